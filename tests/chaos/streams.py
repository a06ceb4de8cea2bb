"""What goes wrong with a watch, between two lines of it or in the middle of one.

Each trouble sends what it wants to a client; a watch that has had one is over, unless it says True.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable

from tests.chaos.answers import FLOOD, HTML, status
from tests.chaos.call import Call
from tests.chaos.http import LAST_CHUNK, chunk

# -------------------------------------------------------------------------------------- in a line


async def ends_in_it(call: Call, line: bytes) -> bool:
    await call.send(chunk(line[: len(line) // 2]) + LAST_CHUNK)
    return False


async def cut_in_it(call: Call, line: bytes) -> bool:
    await call.send(chunk(line)[: len(line) // 2])
    return False


async def reset_in_it(call: Call, line: bytes) -> bool:
    await call.send(chunk(line[: len(line) // 2]))
    call.reset()
    return False


async def garbled(call: Call, line: bytes) -> bool:
    half = len(line) // 2
    await call.send(chunk(line[:half] + b"\x00\xff" + line[half + 2 :]))
    return True


async def slow(call: Call, line: bytes) -> bool:
    await call.trickle(chunk(line))
    return True


async def twice(call: Call, line: bytes) -> bool:
    await call.send(chunk(line + line))
    return True


async def late(call: Call, line: bytes) -> bool:
    call.held_back = chunk(line)
    return True


async def again_later(call: Call, line: bytes) -> bool:
    await call.send(chunk(line))
    return await late(call, line)


IN_IT: dict[str, Callable[[Call, bytes], Awaitable[bool]]] = {
    "ends in a line": ends_in_it,
    "cut in a line": cut_in_it,
    "reset in a line": reset_in_it,
    "garbled line": garbled,
    "slow line": slow,
    "line twice": twice,
    "late line": late,
    "line again later": again_later,
}

# ---------------------------------------------------------------------------------- between two


async def ends(call: Call) -> bool:
    await call.send(LAST_CHUNK)
    return False


async def cut(_: Call) -> bool:
    return False


async def reset(call: Call) -> bool:
    call.reset()
    return False


async def silence(call: Call) -> bool:
    await call.until_it_leaves()
    return False


async def page(call: Call) -> bool:
    await call.send(chunk(HTML))
    return True


async def no_end(call: Call) -> bool:
    await call.send(chunk(b'{"type":"ADDED","object":'))
    await call.flood(chunk(FLOOD))
    return False


async def bad_chunk(call: Call) -> bool:
    await call.send(b"zz\r\n")
    return await silence(call)


async def expired(call: Call) -> bool:
    return await _error(call, status(410, "Expired"))


async def server_error(call: Call) -> bool:
    return await _error(call, status(500, "InternalError"))


async def _error(call: Call, told: bytes) -> bool:
    event = {"type": "ERROR", "object": json.loads(told)}
    await call.send(chunk(json.dumps(event).encode() + b"\n"))
    return await ends(call)


BETWEEN: dict[str, Callable[[Call], Awaitable[bool]]] = {
    "ends": ends,
    "cut": cut,
    "reset": reset,
    "silence": silence,
    "page in the middle": page,
    "line without end": no_end,
    "bad chunk": bad_chunk,
    "expired": expired,
    "server error": server_error,
}


async def lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """What a server sends, by the line, however it comes."""
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if rest:
        yield rest
