"""Targets as discovery would find them, for tests of what setups make of them."""

from __future__ import annotations

from typing import Any

from tvls.analysis.types import FoundTarget


def found_target(name: str = "f", kind: Any = "jax.function", **changed: Any) -> FoundTarget:
    found: dict[str, Any] = {
        "path": "/w/m.py",
        "module": "m",
        "root": "/w",
        "line": 1,
        "column": 0,
        "end_column": 0,
        "name_line": 1,
        "header_end_line": 1,
        "end_line": 2,
        "parameters": [],
        **changed,
    }
    return FoundTarget(name=name, kind=kind, **found)
