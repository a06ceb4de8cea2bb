"""How a list goes on: the tokens that clients bring back for the next page.

Must not: keep anything.
"""

from __future__ import annotations

import base64
import json

from unmoor.sim.apiserver import status


def write_token(number: str, version: str, start: int) -> str:
    """A token for the page of a list that begins at ``start``."""
    body = json.dumps({"list": number, "rv": version, "start": start})
    return base64.urlsafe_b64encode(body.encode()).decode()


def read_token(token: str) -> tuple[str, str, int]:
    """Number of the list, its version, and where the page begins; raises 400."""
    try:
        body = json.loads(base64.urlsafe_b64decode(token))
        return str(body["list"]), str(body["rv"]), int(body["start"])
    except (ValueError, KeyError, TypeError) as error:
        text = f"invalid continue token: continue key is not valid: {error}"
        raise status.bad_request(text) from error
