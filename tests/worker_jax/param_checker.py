"""An independent reading of the parameters of equations, next to what a document has of them."""

from __future__ import annotations

import enum
import functools
import re
import types
from typing import Any

import checker

HOST = {"pure_callback", "io_callback", "debug_callback", "ffi_call", "call_hi_primitive"}
_TYPE = re.compile(r"[A-Za-z_]\w*(\.([A-Za-z_]\w*|<locals>))+")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_ABSOLUTE = re.compile(r"(^|[\s'\"(=])/(home|root|tmp|usr|work|private|Users)/")
ANYTHING = object()


def assert_equal_params(document: dict[str, Any], jaxpr: Any) -> None:
    """Plain parameters are equal, the others bodies or opaque; reasons for being partial are as the equations say."""
    opaque, effects = _graph(document, jaxpr)
    reasons = [name for name, count in (("effects_incomplete", effects), ("opaque_kernel", opaque)) if count]
    assert document["coverage"]["reasons"] == reasons
    counts = document["coverage"].get("counts", {})
    assert [counts.get(name) for name in reasons] == [count for count in (effects, opaque) if count]


def _graph(graph: dict[str, Any], jaxpr: Any) -> tuple[int, int]:
    import jax.extend.core as core

    equations: list[Any] = []

    def inline(jaxpr: Any) -> None:
        for eqn in jaxpr.eqns:
            if eqn.primitive.name in checker.CALLS:
                inline(checker._subprograms(eqn.params, core)[0])
            else:
                equations.append(eqn)

    inline(jaxpr)
    opaque = effects = 0
    for eqn, operation in zip(equations, graph["operations"], strict=True):
        params = operation["params"]
        assert sorted(params) == sorted(eqn.params)
        for name, value in eqn.params.items():
            match(value, params[name], f"{eqn.primitive.name}.{name}", core)
        inner = checker._subprograms(eqn.params, core)
        bodies = operation.get("bodies", [])
        assert len({body["role"] for body in bodies}) == len(bodies), "roles tell bodies apart"
        assert sorted(body["body"] for body in bodies) == sorted(_references(params))
        for body, program in zip(bodies, inner, strict=True):
            _graph(graph["bodies"][body["body"]], program)
        closed = bool(inner) or eqn.primitive.name in HOST
        assert (operation.get("opaque") == "opaque_kernel") == closed
        opaque += closed
        effects += any(type(effect).__name__ != "NamedAxisEffect" for effect in eqn.effects)
    return opaque, effects


def match(value: Any, found: Any, where: str, core: Any) -> None:
    """Raises AssertionError where `found` is not the data of a parameter."""
    plain = expected(value, core)
    if plain is not ANYTHING:
        assert found == plain or [found] == [plain], f"{where}: {found!r} for {plain!r}"
        return
    if isinstance(value, (core.Jaxpr, core.ClosedJaxpr)):
        assert list(found) == ["body"], where
        return
    if hasattr(value, "pp_params"):
        shown = value.pp_params()
        assert found["name"] == type(value).__name__, where
        assert sorted(found["params"]) == sorted(shown), where
        for name, item in shown.items():
            match(item, found["params"][name], f"{where}.{name}", core)
        return
    if isinstance(value, (tuple, list)):
        fields = getattr(value, "_fields", None)
        if fields is not None and type(value).__name__ != "PRNGImpl":
            assert sorted(found) == sorted(fields), where
            for name in fields:
                match(getattr(value, name), found[name], f"{where}.{name}", core)
        elif fields is None:
            assert len(found) == len(value), where
            for at, (item, other) in enumerate(zip(value, found, strict=True)):
                match(item, other, f"{where}[{at}]", core)
        return
    if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
        assert list(found) == ["opaque"], f"{where}: {found!r} for something callable"
    assert_clean(found, where)


def expected(value: Any, core: Any) -> Any:
    """What a plain value has to be in JSON, or `ANYTHING`."""
    import numpy as np

    if isinstance(value, enum.Enum):
        return value.name
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else str(float(value))
    if isinstance(value, np.dtype):
        return value.name
    if type(value) in (tuple, list):
        items = [expected(item, core) for item in value]
        return ANYTHING if any(item is ANYTHING for item in items) else items
    return ANYTHING


def assert_clean(data: Any, where: str) -> None:
    if isinstance(data, dict):
        if list(data) == ["opaque"]:
            assert _TYPE.fullmatch(data["opaque"]), f"{where}: {data}"
            return
        for key, item in data.items():
            assert_clean(key, where)
            assert_clean(item, where)
    elif isinstance(data, list):
        for item in data:
            assert_clean(item, where)
    elif isinstance(data, str):
        assert not _ADDRESS.search(data), f"{where}: {data}"
        assert not _ABSOLUTE.search(data), f"{where}: {data}"


def _references(data: Any) -> list[int]:
    if isinstance(data, dict):
        if list(data) == ["body"]:
            return [data["body"]]
        return [at for name in data for at in _references(data[name])]
    return [at for item in data for at in _references(item)] if isinstance(data, list) else []
