"""Where do renewed tokens stay? In the kubeconfig that had the old ones.

The file is somebody's own, so only the tokens change: comments and order stay, and so do its owner
and mode. It is replaced in one step, under the lock file that kubectl uses too.

Must not: put a token into an error text.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from unmoor.kube.rotating import read_small
from unmoor.kube.secret import Secret


def read(file: Path, user: str) -> dict[str, str]:
    """The settings of the user's auth provider as they are now; none when they cannot be read."""
    try:
        found = _provider(_parsed(read_small(file)), user)
    except (OSError, ValueError):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)}


def write(file: Path, user: str, tokens: Mapping[str, Secret]) -> str:
    """Put the tokens there; returns why it was not possible, or ""."""
    real = file.resolve()
    lock = real.with_name(f"{real.name}.lock")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return f"{lock} exists: somebody else writes, or has died over it"
    except OSError as error:
        return f"{lock}: {error.strerror}"
    try:
        _replace(real, _changed(read_small(real), user, tokens))
    except OSError as error:
        return f"{real}: {error.strerror}"
    except ValueError:
        return f"{real}: the user is no longer there"
    finally:
        lock.unlink(missing_ok=True)
    return ""


def _changed(text: str, user: str, tokens: Mapping[str, Secret]) -> str:
    wanted = _parsed(text)
    config = _provider(wanted, user)
    changed = text
    for key, token in tokens.items():
        if not token:
            continue
        if old := config.get(key):
            changed = changed.replace(str(old), token.reveal())
        config[key] = token.reveal()
    with suppress(ValueError):
        if _parsed(changed) == wanted:
            return changed
    return yaml.safe_dump(wanted, sort_keys=False)


def _provider(document: Any, user: str) -> dict[str, Any]:
    try:
        for entry in document["users"]:
            if entry["name"] == user:
                config = entry["user"]["auth-provider"]["config"]
                if isinstance(config, dict):
                    return config
    except (KeyError, TypeError):
        pass
    raise ValueError("no such user")


def _parsed(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise ValueError("not YAML") from None


def _replace(file: Path, text: str) -> None:
    before = file.stat()
    beside = file.with_name(f"{file.name}.new")
    try:
        beside.touch(mode=0o600)
        with beside.open("w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fchown(out.fileno(), before.st_uid, before.st_gid)
            os.fchmod(out.fileno(), before.st_mode & 0o777)
            os.fsync(out.fileno())
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)
