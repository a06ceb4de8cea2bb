"""In which form does a client want its answer? What its Accept header says, best first.

Must not: build any answer.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from unmoor.runtime.ports import ApiError
from unmoor.sim.apiserver import status

Shape = Literal["", "Table", "PartialObjectMetadata", "PartialObjectMetadataList"]

SERVED = ("application/json", "application/yaml")
_META = "meta.k8s.io"
_SHAPES: dict[str, tuple[Shape, tuple[str, ...]]] = {
    "Table": ("Table", ("v1", "v1beta1")),
    "PartialObjectMetadata": ("PartialObjectMetadata", ("v1", "v1beta1")),
    "PartialObjectMetadataList": ("PartialObjectMetadataList", ("v1", "v1beta1")),
}
INCLUDES = ("None", "Metadata", "Object")
RANGES_LIMIT = 64


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """The form of an answer. ``include``: what of the object goes along with a table's row."""

    shape: Shape = ""
    version: str = "v1"
    is_yaml: bool = False
    include: str = "Metadata"


PLAIN = Form()


class Range(msgspec.Struct, frozen=True):
    """One alternative of an Accept header."""

    media: str
    parameters: dict[str, str]


def ranges(header: str) -> list[Range]:
    """The alternatives of an Accept header, best first."""
    found: list[tuple[float, Range]] = []
    for text in header.split(",")[:RANGES_LIMIT]:
        media, *rest = (part.strip() for part in text.split(";"))
        parameters = {}
        for part in rest:
            name, _, value = part.partition("=")
            parameters[name.strip().lower()] = value.strip().strip('"')
        quality = _quality(parameters.pop("q", "1"))
        if media and quality > 0:
            found.append((-quality, Range(media.lower(), parameters)))
    found.sort(key=lambda one: one[0])
    return [one for _, one in found]


def _quality(text: str) -> float:
    try:
        return min(max(float(text), 0.0), 1.0)
    except ValueError:
        return 1.0


def form_of(header: str, query: Any) -> Form:
    """The first form that we have; raises 406 when there is none."""
    for one in ranges(header or "*/*"):
        if one.media in {"*/*", "application/*", "application/json", "application/yaml"}:
            is_yaml = one.media == "application/yaml"
            wanted = one.parameters.get("as", "")
            if not wanted:
                return Form(is_yaml=is_yaml)
            shape, versions = _SHAPES.get(wanted, ("", ()))
            version = one.parameters.get("v", "")
            if shape and one.parameters.get("g") == _META and version in versions:
                return Form(shape=shape, version=version, is_yaml=is_yaml, include=_include(query))
    raise not_acceptable()


def _include(query: Any) -> str:
    found = query.get("includeObject", "") or "Metadata"
    if found not in INCLUDES:
        cause = status.unsupported("includeObject", found, INCLUDES)
        raise status.bad_request(str(cause))
    return str(found)


def not_acceptable() -> ApiError:
    """406: none of the forms that the client takes is served."""
    listed = ", ".join((*SERVED, "application/vnd.kubernetes.protobuf"))
    text = f"only the following media types are accepted: {listed}"
    return status.failure(406, "NotAcceptable", text)
