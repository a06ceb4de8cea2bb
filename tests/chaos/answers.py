"""What goes wrong with one answer, whether the request is passed on to the server or not.

Each trouble sends what it wants to a client and says whether the connection may be used again.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from tests.chaos.call import Call
from tests.chaos.http import Head, chunk, page
from tests.chaos.wire import PACE_S

HTML = b"<html><head><title>Oops</title></head><body>upstream connect error</body></html>\n"
FLOOD = b" " * 2**16


@dataclass(frozen=True)
class Answer:
    """What the server said, whole."""

    head: Head
    body: bytes

    def framed(self) -> bytes:
        """As it is, with a length."""
        return self.with_length(len(self.body))

    def with_length(self, length: int, **headers: str) -> bytes:
        plain = self.head.changed(transfer_encoding=None, connection=None, **headers)
        return plain.changed(content_length=str(length)).encoded() + self.body

    def chunked(self, body: bytes) -> bytes:
        head = self.head.changed(content_length=None, connection=None, transfer_encoding="chunked")
        return head.encoded() + chunk(body)


def status(code: int, reason: str, **details: Any) -> bytes:
    """A Status as an API server writes it."""
    told = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return json.dumps(
        {**told, "message": "chaos", "reason": reason, "code": code, **details}
    ).encode()


# ------------------------------------------------------------------- the request goes no further


async def no_answer(call: Call) -> bool:
    await call.until_it_leaves()
    return False


async def closed(_: Call) -> bool:
    return False


async def reset(call: Call) -> bool:
    call.reset()
    return False


async def hanging_page(call: Call) -> bool:
    await call.send(Head("HTTP/1.1 503 Busy", (("content-length", "100"),)).encoded() + b"<ht")
    return await no_answer(call)


async def quotes(call: Call) -> bool:
    """Who is meant to help with debugging sends back what it was sent, credentials too."""
    await call.send(page(400, "Bad Request", call.head.encoded(), "text/plain"))
    return True


def says(code: int, reason: str, body: bytes, media: str, **headers: str) -> Undone:
    async def answer(call: Call) -> bool:
        await call.send(page(code, reason, body, media, **headers))
        return True

    return answer


Undone = Callable[[Call], Awaitable[bool]]
_JSON = "application/json"

UNDONE: dict[str, Undone] = {
    "no answer": no_answer,
    "no answer: closed": closed,
    "no answer: reset": reset,
    "400 that quotes": quotes,
    "502 page": says(502, "Bad Gateway", HTML, "text/html"),
    "503 page": says(503, "Service Unavailable", HTML, "text/html"),
    "504 page": says(504, "Gateway Timeout", HTML, "text/html"),
    "503 that hangs": hanging_page,
    "429": says(429, "Too Many Requests", status(429, "TooManyRequests"), _JSON),
    "429 until later": says(
        429, "Too Many Requests", status(429, "TooManyRequests"), _JSON, retry_after="1"
    ),
    "401": says(401, "Unauthorized", status(401, "Unauthorized"), _JSON),
    "302": says(302, "Found", HTML, "text/html", location="https://127.0.0.1:1/login"),
    "410": says(410, "Gone", status(410, "Expired"), _JSON),
    "login page": says(200, "OK", HTML, "text/html"),
    "empty object": says(200, "OK", b"{}", _JSON),
}

# ------------------------------------------------------------------------ the answer is not told


async def silence(call: Call, _: Answer) -> bool:
    return await no_answer(call)


async def close(_call: Call, _: Answer) -> bool:
    return False


async def reset_instead(call: Call, _: Answer) -> bool:
    return await reset(call)


async def page_instead(call: Call, _: Answer) -> bool:
    return await UNDONE["502 page"](call)


async def cut_short(call: Call, answer: Answer) -> bool:
    await call.send(answer.framed()[: -len(answer.body) // 2 or None])
    return False


async def reset_short(call: Call, answer: Answer) -> bool:
    await cut_short(call, answer)
    return await reset(call)


async def says_too_much(call: Call, answer: Answer) -> bool:
    await call.send(answer.with_length(len(answer.body) + 7))
    return await no_answer(call)


async def says_too_little(call: Call, answer: Answer) -> bool:
    await call.send(answer.with_length(len(answer.body) // 2))
    return True


async def never_ends(call: Call, answer: Answer) -> bool:
    await call.send(answer.chunked(answer.body))
    await call.flood(chunk(FLOOD))
    return False


async def no_last_chunk(call: Call, answer: Answer) -> bool:
    await call.send(answer.chunked(answer.body))
    return False


async def bad_chunk(call: Call, answer: Answer) -> bool:
    await call.send(answer.chunked(answer.body) + b"zz\r\n")
    return await no_answer(call)


async def no_gzip(call: Call, answer: Answer) -> bool:
    await call.send(answer.with_length(len(answer.body), content_encoding="gzip"))
    return True


async def garbage(call: Call, answer: Answer) -> bool:
    half = len(answer.body) // 2
    body = answer.body[:half] + b"\xff\x00" + answer.body[half + 2 :]
    await call.send(Answer(answer.head, body).framed())
    return True


async def slow_head(call: Call, answer: Answer) -> bool:
    await call.trickle(answer.framed())
    return True


async def slow_body(call: Call, answer: Answer) -> bool:
    text = answer.framed()
    at = len(text) - len(answer.body)
    await call.send(text[:at])
    await call.trickle(text[at:])
    return True


async def zipped(call: Call, answer: Answer) -> bool:
    small = Answer(answer.head, gzip.compress(answer.body))
    await call.send(small.with_length(len(small.body), content_encoding="gzip"))
    return True


async def go_on_first(call: Call, answer: Answer) -> bool:
    await call.send(Head("HTTP/1.1 100 Continue", ()).encoded() + answer.framed())
    return True


async def old_fashioned(call: Call, answer: Answer) -> bool:
    """As before HTTP/1.1: no length; the end of the connection is the end of the body."""
    head = answer.head.changed(content_length=None, transfer_encoding=None, connection=None)
    first = head.first.replace("HTTP/1.1", "HTTP/1.0")
    await call.send(Head(first, head.headers).encoded() + answer.body)
    return False


async def twice(call: Call, answer: Answer) -> bool:
    await call.send(answer.framed() + answer.framed())
    return True


async def as_it_is(call: Call, answer: Answer) -> bool:
    await call.send(answer.framed())
    return True


async def closes_behind(call: Call, answer: Answer) -> bool:
    await call.send(answer.framed())
    return False


async def speaks_unasked(call: Call, answer: Answer) -> bool:
    """Some proxies say good-bye to a connection that nobody uses; this one stays."""
    await call.send(answer.framed())
    await asyncio.sleep(PACE_S)
    await call.send(page(408, "Request Timeout", HTML, "text/html"))
    return True


UNTOLD: dict[str, Callable[[Call, Answer], Awaitable[bool]]] = {
    "lost: silence": silence,
    "lost: closed": close,
    "lost: reset": reset_instead,
    "lost: 502 page": page_instead,
    "cut short": cut_short,
    "cut short: reset": reset_short,
    "says too much": says_too_much,
    "says too little": says_too_little,
    "never ends": never_ends,
    "no last chunk": no_last_chunk,
    "bad chunk": bad_chunk,
    "no gzip": no_gzip,
    "garbage": garbage,
    "slow head": slow_head,
    "slow body": slow_body,
    "zipped": zipped,
    "100 first": go_on_first,
    "HTTP/1.0": old_fashioned,
    "twice": twice,
    "somebody else's": as_it_is,  # whose it is, the gateway knows
    "yesterday's": as_it_is,
    "closes behind": closes_behind,
    "speaks unasked": speaks_unasked,
    "": as_it_is,
}
