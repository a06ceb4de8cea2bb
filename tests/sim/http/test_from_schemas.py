"""Requests made from the OpenAPI that the face serves, right and wrong: no answer is a crash.

A stranger makes them (schemathesis): from each document every operation, with values that fit its
schema and values that do not. The face runs in a thread of its own, as a server before a client.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation

from tests.sim.http.client import NOW
from unmoor.model.base import JSON
from unmoor.sim.apiserver import FAITHFUL, Server
from unmoor.sim.http import HttpFace

Operation: TypeAlias = APIOperation[Any, Any, Any, Any]
EXAMPLES = int(os.environ.get("UNMOOR_SCHEMA_EXAMPLES", "25"))
"""Requests of each document and mode."""
DOCUMENTS = (
    "api/v1",
    "apis/apiextensions.k8s.io/v1",
    "apis/apps/v1",
    "apis/batch/v1",
    "apis/coordination.k8s.io/v1",
    "apis/events.k8s.io/v1",
    "apis/karpenter.k8s.aws/v1alpha1",
    "apis/karpenter.sh/v1alpha5",
    "apis/networking.k8s.io/v1",
    "apis/node.k8s.io/v1",
    "apis/policy/v1",
    "apis/rbac.authorization.k8s.io/v1",
    "apis/scheduling.k8s.io/v1",
    "apis/sim.unmoor.dev/v1alpha1",
    "apis/storage.k8s.io/v1",
    "apis/unmoor.dev/v1alpha1",
)
REAL_TOO = re.compile("^resourceVersion should not be set on objects to be created$")
"""What a real server says with code 500, too; the contract suite holds both to it."""
REFUSALS = {400, 404, 405, 409, 415, 422}
ANSWER_S = 20.0


@dataclass
class Served:
    """A face that listens, and what it takes to speak to it."""

    url: str
    token: str
    ca_file: str

    def session(self) -> requests.Session:
        """A client that may do everything."""
        session = requests.Session()
        session.headers["Authorization"] = f"Bearer {self.token}"
        return session

    def get(self, path: str) -> JSON:
        """What is there."""
        with self.session() as session:
            answer = session.get(self.url + path, verify=self.ca_file, timeout=ANSWER_S)
            found: JSON = answer.json()
        return found


@pytest.fixture
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="face")
    thread.start()

    async def listen() -> HttpFace:
        face = HttpFace(Server(lambda: NOW, seed=1, manners=FAITHFUL))
        await face.start()
        return face

    try:
        face = asyncio.run_coroutine_threadsafe(listen(), loop).result(ANSWER_S)
        ca_file = tmp_path_factory.mktemp("face") / "ca.pem"
        ca_file.write_text(face.ca_pem)
        yield Served(face.url, face.token, str(ca_file))
        asyncio.run_coroutine_threadsafe(face.stop(), loop).result(ANSWER_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(ANSWER_S)
        loop.close()


def _operations(document: JSON) -> list[Operation]:
    """Every operation, by name. A body is JSON: what ``*/*`` means is tried in other cases."""
    for path in document["paths"].values():
        for content in _bodies(path):
            if "*/*" in content:
                content["application/json"] = content.pop("*/*")
    schema = schemathesis.openapi.from_dict(document)
    found = []
    for result in schema.get_all_operations():
        assert isinstance(result, Ok), result
        found.append(result.ok())
    return sorted(found, key=lambda operation: operation.label)


def _bodies(path: JSON) -> Iterator[JSON]:
    """By media type, what may be sent to a path."""
    for operation in path.values():
        if isinstance(operation, dict) and "requestBody" in operation:
            yield operation["requestBody"]["content"]


def test_every_document_is_tried(served: Served) -> None:
    assert set(DOCUMENTS) == set(served.get("/openapi/v3")["paths"])


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_request_is_a_crash(name: str, mode: GenerationMode, served: Served) -> None:
    operations = _operations(served.get(f"/openapi/v3/{name}"))
    assert operations
    codes = set[int]()
    session = served.session()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def tried(data: st.DataObject) -> None:
        operation = data.draw(st.sampled_from(operations))
        case = data.draw(operation.as_strategy(generation_mode=mode))
        answer = case.call(
            base_url=served.url, session=session, verify=served.ca_file, timeout=ANSWER_S
        )
        note(case.as_curl_command())
        note(answer.text)
        body = answer.json()
        if not REAL_TOO.search(body.get("message", "")):
            codes.add(answer.status_code)
            assert answer.status_code < 500
        if answer.status_code >= 400:
            assert body["kind"] == "Status"
            assert body["code"] == answer.status_code
            assert body["message"]

    with session:
        tried()
    if mode is GenerationMode.NEGATIVE:
        assert codes <= REFUSALS
    assert 422 in codes
