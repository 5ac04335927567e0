"""Scopes stay acyclic as nodes, whatever is entered again."""

from __future__ import annotations

import random
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from tvls.capture.limits import Limits
from tvls.worker.frameworks.jax.modules import Modules
from tvls.worker.frameworks.jax.scopes import Scopes

from .pictures import cycle_of


def stack(*names: str) -> Any:
    return SimpleNamespace(stack=[SimpleNamespace(name=name) for name in names])


class Program:
    """A graph of scopes that grows as a capture does."""

    def __init__(self) -> None:
        self.scopes = Scopes(Modules(), Limits(), {""}, [0])
        self.operations: list[tuple[int, list[int]]] = []

    def add(self, parent: int, names: tuple[str, ...], reads: list[int]) -> int:
        scope = self.scopes.enter(parent, stack(*names), reads)
        self.scopes.order.add_operation(scope, reads)
        self.operations.append((scope, reads))
        return scope


def name(program: Program, scope: int) -> str:
    return program.scopes.items[scope]["id"]


def test_a_scope_that_is_left_and_entered_again_is_one_where_that_is_acyclic() -> None:
    # R33
    program = Program()
    first = program.add(0, ("a",), [])
    program.add(0, ("b",), [])
    assert program.add(0, ("a",), [0]) == first  # `b` is on its own
    assert program.add(0, ("b",), [2]) == 2  # and may read from `a`, as `a` does not from it


def test_a_scope_that_would_stand_before_and_after_another_is_two() -> None:
    program = Program()
    program.add(0, ("a",), [])
    program.add(0, (), [0])
    again = program.add(0, ("a",), [1])
    assert name(program, again) == "a:1"
    assert program.add(0, ("a",), [0, 2]) == again


def test_the_innermost_scope_that_is_not_acyclic_is_split() -> None:
    program = Program()
    program.add(0, ("m", "a"), [])
    program.add(0, ("m", "b"), [0])
    assert name(program, program.add(0, ("m", "a"), [1])) == "m/a:1"
    program.add(0, (), [0])
    assert name(program, program.add(0, ("m", "a"), [3])) == "m:1/a"


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_are_acyclic_at_every_level(seed: int) -> None:
    # R33: contracting any scope leaves the graph of its siblings acyclic
    rng = random.Random(seed)  # noqa: S311
    program = Program()
    labels = [f"l{at}" for at in range(rng.choice((1, 2, 3, 6)))]
    for _ in range(rng.choice((20, 80, 200))):
        depth = rng.choice((0, 1, 1, 2, 3))
        near = range(max(0, len(program.operations) - rng.choice((2, 10, 300))), len(program.operations))
        reads = rng.sample(near, min(len(near), rng.randint(0, 3)))
        if rng.random() < 0.1:  # a call is expanded at once, and reads what its operands are
            scope = program.scopes.enter(0, stack(rng.choice(labels)), reads)
            opened = program.scopes.open(scope, "jit", "call")
            inner = list(reads)
            for _ in range(rng.randint(1, 6)):
                chosen = rng.sample(inner, min(len(inner), rng.randint(0, 2)))
                program.add(opened, tuple(rng.choices(labels, k=rng.randint(0, 2))), chosen)
                inner.append(len(program.operations) - 1)
            continue
        program.add(0, tuple(rng.choices(labels, k=depth)), reads)
    assert cycle_of(program.scopes.items, program.operations) is None


def test_the_picture_check_sees_a_cycle() -> None:
    items = [{"id": "", "parent": None}, {"id": "a", "parent": 0}, {"id": "b", "parent": 1}]
    assert cycle_of(items, [(2, []), (0, [0]), (2, [1])]) == ["", "a", "operation 1"]
    assert cycle_of(items, [(2, []), (1, [0]), (2, [1])]) == ["a", "b", "operation 1"]
    assert cycle_of(items, [(2, []), (1, [0]), (0, [1])]) is None


def test_a_long_flat_program_with_a_shared_layer_is_quick() -> None:
    # a recurrent model that is unrolled: each step needs a scope of its own, and no search through all of them
    program = Program()
    program.add(0, ("cell",), [])
    for at in range(20_000):
        program.add(0, () if at % 2 else ("cell",), [at])
    assert len(program.scopes.items) == 10_001
    ids = [item["id"] for item in program.scopes.items[1:]]
    assert all(one != other for one, other in pairwise(ids))
