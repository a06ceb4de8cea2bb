"""What kube-scheduler thinks of the nodes that it would take, read off its log.

Each score is one line there: of a pod, by a plugin, for a node, already multiplied by the plugin's
weight. Plugins that have nothing to say about a pod are not asked, and are not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

_ATTEMPT: Final = '"Attempting to schedule pod"'
_SCORE: Final = '"Plugin scored node for pod"'
ByNode: TypeAlias = dict[str, int]
ByPlugin: TypeAlias = dict[str, ByNode]
_FIELD: Final = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')


@dataclass
class Scores:
    """By plugin and node, as of the last try of each pod. ``log``: where a kube-scheduler writes.

    Only what is written from now on counts.
    """

    log: Path
    found: dict[str, ByPlugin] = field(default_factory=dict)
    """By ``namespace/name`` of the pod."""

    def __post_init__(self) -> None:
        self._read = self.log.stat().st_size if self.log.exists() else 0

    def of(self, pod: str) -> ByPlugin:
        """Return the scores of a pod that is bound: empty when only one node was left."""
        with self.log.open("rb") as log:
            log.seek(self._read)
            whole, _, _ = log.read().rpartition(b"\n")
        self._read += len(whole)
        self._take(whole.decode().splitlines())
        return self.found.get(pod, {})

    def _take(self, lines: Iterable[str]) -> None:
        for line in lines:
            is_score = _SCORE in line
            if not is_score and _ATTEMPT not in line:
                continue
            told = {key: quoted or plain for key, quoted, plain in _FIELD.findall(line)}
            if is_score:
                by_plugin = self.found[told["pod"]].setdefault(told["plugin"], {})
                by_plugin[told["node"]] = int(told["score"])
            else:
                self.found[told["pod"]] = {}
