"""Reads a capture document and checks it, so that nothing that uses it later meets an index that is not there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from tvls.capture.document import FORMAT_VERSION, Body, Capture, Failure, Frame, Operand, Operation, Scope, Tree, Value
from tvls.capture.encoding import capture_id
from tvls.graph.index import collector_paused, tree_children
from tvls.protocol.errors import TvlsError


class _Header(msgspec.Struct, rename="camel"):
    """What has to be known of a document before the rest of it can be read."""

    format_version: int
    failure: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_MAX_LINES = 100_000
"""Lines that one frame may cover; lines are looked up one by one."""

_header = msgspec.json.Decoder(_Header)
_capture = msgspec.json.Decoder(Capture)
_failure = msgspec.json.Decoder(Failure)


class _Fault(Exception):  # noqa: N818 - a place and what is wrong there, never seen outside
    pass


def load(data: bytes) -> Capture | Failure:
    """The document in `data`: `"failure" in document` tells which of the two it is.

    Raises TvlsError `captureInvalid` when it is not one: not JSON, another format version, a missing or mistyped field,
    an index that points nowhere, or content that does not match its `captureId`.
    """
    try:
        with collector_paused():
            return _load(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, _Fault) as fault:
        raise TvlsError(
            "captureInvalid", f"This is not a readable capture: {fault}", "Trace the model again to write a new one."
        ) from fault


def _load(data: bytes) -> Capture | Failure:
    header = _header.decode(data)
    if header.format_version != FORMAT_VERSION:
        raise _Fault(f"it has format version {header.format_version}; this program reads version {FORMAT_VERSION}")
    if header.failure is not msgspec.UNSET:
        return _failure.decode(data)
    capture = _capture.decode(data)
    _check_identity(capture["captureId"], data)
    _check_frames(capture["frames"])
    values = capture["values"]
    given = {index for index, value in enumerate(values) if value["role"] != "intermediate"}
    made = _check_graph(
        "", values, capture["operations"], capture["scopes"], capture["bodies"], capture["frames"], given
    )
    for key, tree in capture["inputs"]["kwargs"].items():
        _check_tree(f"inputs.kwargs.{key}", tree, given, len(values))
    for at, tree in enumerate(capture["inputs"]["args"]):
        _check_tree(f"inputs.args[{at}]", tree, given, len(values))
    _check_tree("outputs", capture["outputs"], made, len(values))
    return capture


def _check_identity(claimed: str, data: bytes) -> None:
    """A document as it was written is checked on its bytes; one that was laid out anew is read again in full."""
    entry = b'"captureId":' + msgspec.json.encode(claimed) + b","
    before, found, after = data.partition(entry)
    if found:
        digest = hashlib.sha256(before)
        digest.update(after)
        if claimed == "sha256:" + digest.hexdigest():
            return
    try:
        document: Any = json.loads(data)
        actual = capture_id(cast(Mapping[str, Any], document))
    except ValueError as fault:
        raise _Fault(str(fault)) from fault
    if claimed != actual:
        raise _Fault(f"its content was changed: captureId says {claimed}, the content gives {actual}")


def _check_frames(frames: list[Frame]) -> None:
    for at, frame in enumerate(frames):
        if frame["line"] < 0 or frame.get("endLine", frame["line"]) < frame["line"]:
            raise _Fault(f"frames[{at}] ends before it begins")
        if frame.get("endLine", 0) - frame["line"] > _MAX_LINES:
            raise _Fault(f"frames[{at}] covers more than {_MAX_LINES:,} lines")


def _check_graph(
    where: str,
    values: list[Value],
    operations: list[Operation],
    scopes: list[Scope],
    bodies: list[Body],
    frames: list[Frame],
    known: set[int],
) -> set[int]:
    """Checks one graph and its bodies, given the values that exist at its beginning. Returns those at its end."""
    known = set(known)
    _check_scopes(where, scopes)
    ids: set[str] = set()
    value_count, scope_count, frame_count, body_count = len(values), len(scopes), len(frames), len(bodies)
    made = {value for value in known if values[value]["role"] == "input"}
    for at, operation in enumerate(operations):
        place = f"{where}operations[{at}]"
        if operation["id"] in ids:
            raise _Fault(f"{place}.id {operation['id']!r} is not unique")
        ids.add(operation["id"])
        if not 0 <= operation["scope"] < scope_count:
            raise _Fault(f"{place}.scope is {operation['scope']}, but there are {scope_count} scopes")
        for position, operand in enumerate(operation["inputs"]):
            _check_operand(f"{place}.inputs[{position}]", operand, known, value_count)
        for value in operation["outputs"]:
            if not 0 <= value < value_count:
                raise _Fault(f"{place}.outputs has value {value}, but there are {value_count} values")
            if value in made:
                raise _Fault(f"{place}.outputs has value {value}, which is an input or made by an earlier operation")
            made.add(value)
            known.add(value)
        for frame in operation["frames"]:
            if not 0 <= frame < frame_count:
                raise _Fault(f"{place}.frames has frame {frame}, but there are {frame_count} frames")
        for ref in operation.get("bodies", ()):
            if not 0 <= ref["body"] < body_count:
                raise _Fault(f"{place}.bodies has body {ref['body']}, but there are {body_count} bodies")
    for at, body in enumerate(bodies):
        place = f"{where}bodies[{at}]."
        for value in body["inputs"]:
            if not 0 <= value < len(body["values"]):
                raise _Fault(f"{place}inputs has value {value}, but there are {len(body['values'])} values")
        given = {index for index, value in enumerate(body["values"]) if value["role"] != "intermediate"}
        given.update(body["inputs"])
        inside = _check_graph(place, body["values"], body["operations"], body["scopes"], body["bodies"], frames, given)
        for position, operand in enumerate(body["outputs"]):
            _check_operand(f"{place}outputs[{position}]", operand, inside, len(body["values"]))
    return known


def _check_scopes(where: str, scopes: Sequence[Scope]) -> None:
    if not scopes:
        raise _Fault(f"{where}scopes has no root")
    ids: set[str] = set()
    for at, scope in enumerate(scopes):
        if scope["id"] in ids:
            raise _Fault(f"{where}scopes[{at}].id {scope['id']!r} is not unique")
        ids.add(scope["id"])
        parent = scope["parent"]
        if (parent is None) != (at == 0):
            raise _Fault(f"{where}scopes[{at}].parent: the first scope, and no other, is the root")
        if parent is not None and not 0 <= parent < at:
            raise _Fault(f"{where}scopes[{at}].parent is {parent}; a parent stands before its children")


def _check_operand(place: str, operand: Operand, known: set[int], values: int) -> None:
    value = operand.get("value")
    if value is None:
        if "literal" not in operand:
            raise _Fault(f"{place} has neither a value nor a literal")
        return
    if value not in known:
        if not 0 <= value < values:
            raise _Fault(f"{place} is value {value}, but there are {values} values")
        raise _Fault(f"{place} is value {value}, which nothing before it makes")


def _check_tree(place: str, tree: Tree, known: set[int], values: int) -> None:
    shapes = {"list": list, "tuple": list, "dict": dict}
    kind = next((key for key in ("value", "literal", "static", "opaque", *shapes) if key in tree), None)
    if kind is None:
        raise _Fault(f"{place} is none of value, literal, static, opaque, list, tuple and dict")
    if kind == "value":
        if type(tree["value"]) is not int:
            raise _Fault(f"{place}.value is not an index")
        _check_operand(place, cast(Operand, tree), known, values)
    elif kind in shapes:
        if type(tree[kind]) is not shapes[kind]:
            raise _Fault(f"{place}.{kind} is not a JSON {'object' if kind == 'dict' else 'array'}")
        for key, child in tree_children(tree):
            if type(child) is not dict:
                raise _Fault(f"{place}.{kind} has {key!r}, which is not a JSON object")
            _check_tree(f"{place}.{key}", child, known, values)
