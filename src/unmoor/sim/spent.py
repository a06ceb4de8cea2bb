"""Does no command take more nodes of a Provisioner than its budgets let go at the same time?

Judged when a command is written down, by the annotation ``unmoor.dev/budgets``. A simulated
person's schedule is a minute of each hour; everything else is refused here, so that none is
believed to hold that is not looked at.

Must not: import policy or lifecycle, or write anything.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from math import ceil
from typing import Any

from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.sim import truth as true
from unmoor.sim.apiserver.storage import Entry
from unmoor.sim.methods import METHODS, method_of
from unmoor.sim.past import Past

HOUR_S = 3600.0
HOURLY = re.compile(r"(\d+) \* \* \* \*")
MINUTES = re.compile(r"(\d+)m")


class Spent:
    """How many nodes there were, since when each goes, and what people allowed."""

    name = "budgets-of-nodes-hold"

    def __init__(self, past: Past) -> None:
        """Begin with nothing."""
        self._past = past
        self._truth = past.truth
        self._going_at: dict[str, float] = {}
        """Since when a node, by uid, uses up a budget without a break."""
        self._gone: dict[str, tuple[str, float]] = {}
        """Of which Provisioner a node, by uid, was, and when it was gone."""
        self._said: dict[str, list[tuple[float, str]]] = {}
        """What each Provisioner, by name, has had as budgets, and from when on."""

    def broken(self, entry: Entry, who: str) -> Iterator[str]:
        """Say whose budget a new command overspends."""
        command = entry.obj
        is_new = command.get("kind") == "Disruption" and entry.type == "ADDED"
        if not is_new or command["spec"].get("observed"):
            return
        taken: dict[str, Counter[str]] = {}
        for named in command["spec"].get("nodes") or ():
            node = self._truth.get("Node", named["name"])
            if node is not None and true.uid(node) == named["uid"]:
                taken.setdefault(_owner(node), Counter())[self._reason(command, node)] += 1
        for provisioner, counts in sorted(taken.items()):
            yield from self._over(provisioner, counts, command, who)

    def _reason(self, command: JSON, node: JSON) -> str:
        row = METHODS.get(method_of(command))
        usual = row.budget if row is not None else ""
        return usual or ("Underutilized" if self._past.known_pods(node, command) else "Empty")

    def _over(
        self, provisioner: str, taken: Counter[str], command: JSON, who: str
    ) -> Iterator[str]:
        before_s = self._truth.time_s() - self._past.allowances.blind_s
        own = {one["uid"] for one in command["spec"]["nodes"]}
        for other in self._truth.all("Disruption"):
            if self._truth.is_news(other, who, self._past.allowances.blind_s):
                own |= {one["uid"] for one in other["spec"].get("nodes") or ()}
        there = [one for one in self._truth.all("Node") if _owner(one) == provisioner]
        there = [one for one in there if self._truth.is_ours(one)]
        lately = [at for by, at in self._gone.values() if by == provisioner and at >= before_s]
        going = sum(
            true.uid(one) not in own and self._going_at.get(true.uid(one), before_s) < before_s
            for one in there
        )
        for reason, nodes in taken.items():
            most = self._most(provisioner, reason, len(there) + len(lately))
            if most is not None and nodes + going > most:
                yield (
                    f"it takes {nodes} nodes of {provisioner} for {reason}, {going} are going, "
                    f"and {most} may"
                )

    def _most(self, provisioner: str, reason: str, nodes: int) -> int | None:
        """The most that was allowed at any time of which the process may still believe it is."""
        before_s = self._truth.time_s() - self._past.allowances.blind_s
        said = self._said.get(provisioner, [])
        current = [
            text
            for index, (_, text) in enumerate(said)
            if index + 1 == len(said) or said[index + 1][0] >= before_s
        ]
        found = [self._allowed(text, reason, nodes) for text in current or [""]]
        return None if None in found else max(one for one in found if one is not None)

    def _allowed(self, text: str, reason: str, nodes: int) -> int | None:
        budgets: list[JSON] = json.loads(text) if text else []
        amounts = [
            _amount(one["nodes"], nodes)
            for one in budgets
            if reason in one.get("reasons", (reason,)) and self._is_active(one)
        ]
        return min(amounts, default=None)

    def _is_active(self, budget: JSON) -> bool:
        """It is so whatever the clock of the process says."""
        if "schedule" not in budget:
            return True
        minute, length = HOURLY.fullmatch(budget["schedule"]), MINUTES.fullmatch(budget["duration"])
        assert minute is not None, "a schedule that this rule cannot read"
        assert length is not None, "a duration that this rule cannot read"
        skew_s = self._past.allowances.skew_s
        early_s = self._past.allowances.blind_s + skew_s
        since_s = (self._truth.now().timestamp() - early_s - 60.0 * int(minute[1])) % HOUR_S
        return since_s + early_s + skew_s <= 60.0 * int(length[1])

    def note(self, entry: Entry, who: str) -> None:
        """Remember."""
        del who
        obj, now_s = entry.obj, self._truth.time_s()
        match obj.get("kind"):
            case "Provisioner":
                self._say(true.name(obj), true.marks_of(obj).get(names.BUDGETS, ""))
            case "Node" if entry.type == "DELETED":
                self._going_at.pop(true.uid(obj), None)
                self._gone[true.uid(obj)] = (_owner(obj), now_s)
            case "Node":
                self._note_going(obj)
            case "Machine" if true.is_deleting(obj) or entry.type == "DELETED":
                provider_id = (obj.get("status") or {}).get("providerID", "")
                for node in self._truth.all("Node") if provider_id else ():
                    if node["spec"].get("providerID") == provider_id:
                        self._note_going(node)
            case _:
                pass

    def _say(self, provisioner: str, text: str) -> None:
        said = self._said.setdefault(provisioner, [])
        if not said or said[-1][1] != text:
            said.append((self._truth.time_s(), text))

    def _note_going(self, node: JSON) -> None:
        machines = self._truth.machines_of(node["spec"].get("providerID", ""))
        is_going = true.is_deleting(node) or any(true.is_deleting(one) for one in machines)
        if is_going or names.DISRUPTION in true.marks_of(node) or not _is_ready(node):
            self._going_at.setdefault(true.uid(node), self._truth.time_s())
        else:
            self._going_at.pop(true.uid(node), None)


def _owner(node: JSON) -> str:
    """The Provisioner of a node that is up; "" for one that does not count."""
    labels = node["metadata"].get("labels") or {}
    is_up = labels.get(names.INITIALIZED) == names.TRUE
    return str(labels.get(names.PROVISIONER_NAME, "")) if is_up else ""


def _is_ready(node: JSON) -> bool:
    said = (node.get("status") or {}).get("conditions") or ()
    return any((one["type"], one["status"]) == ("Ready", "True") for one in said)


def _amount(nodes: Any, there: int) -> int:
    text = str(nodes)
    return ceil(int(text[:-1]) * there / 100) if text.endswith("%") else int(text)
