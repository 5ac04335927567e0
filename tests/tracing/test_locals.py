"""Locals are seen alike however an interpreter is watched: in forms that name the same array again, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tracing.test_worker import pythons, seen, trace, write
from tvls.tracing.pool import WorkerPool

PROGRAM = '''\
from fakearrays import Array

def keep(x, *more):
    return x

def fails(x):
    raise ValueError

def net():
    a = Array(1)
    a = keep(a)  # as dropout that is off
    a = keep(a) if a is not None else Array(9)
    b = keep(
        a,
        a,
    )
    for b in (a, a, a):
        c = b
    try:
        a = fails(a)  # binds nothing
    except ValueError:
        d = a
    with open("/dev/null") as stream:
        d = keep(a)
    e = [keep(a) for a in (Array(2), Array(3))]  # this `a` is another
    if e and (f := a) is None or (g := a) is None:
        pass
    if not e and (f := Array(9)):
        pass
    if e: f = keep(f)
    if not e: f = keep(f)
    h = k = a; del h
    while True:
        k = keep(k); break
    return a

HALF = lambda u, /, v=Array(4), *w, key, **rest: keep(u)
def maker():
    """Lambdas, of every kind."""
    made = [lambda p: (lambda q: keep(q))(p), lambda: keep(Array(6)), lambda s: fails(s)]
    made[0](Array(5))
    made[1]()
    try:
        made[2](Array(7))
    except ValueError:
        pass
    list((lambda t: t)(item) for item in [Array(8)])
    return HALF(Array(1), key=Array(2))

class Holder:
    twice = staticmethod(lambda m=(lambda n: n): m(Array(3)))

def lambdas():
    Holder.twice()
    return maker()
'''


@pytest.mark.parametrize("python", pythons(), ids=lambda python: Path(python).parent.parent.name)
@pytest.mark.parametrize("long", [False, True], ids=["short", "long"])  # long modules are watched in another way
async def test_locals_that_hold_the_same_array_again(
    pool: WorkerPool, workspace: Path, python: str, long: bool
) -> None:
    # R25
    write(workspace, model=PROGRAM + "\n" * 2100 * long)
    document = await trace(pool, workspace, python)
    assert "failure" not in document, document["failure"]
    found = seen(document)
    lines = PROGRAM.splitlines()

    def at(text: str) -> int:
        return next(number for number, line in enumerate(lines, 1) if text in line)

    one = [((1,), 1)]
    expected = {
        (at("a = Array(1)"), "a"): one,
        (at("a = keep(a)  # as"), "a"): one,
        (at("a = keep(a) if"), "a"): one,
        (at("b = keep("), "b"): one,
        (at("c = b"), "c"): [((1,), 3)],
        (at("d = a"), "d"): one,
        (at("d = keep(a)"), "d"): one,
        (at("(f := a)"), "f"): one,
        (at("(f := a)"), "g"): one,
        (at("h = k = a"), "k"): one,
        (at("k = keep(k)"), "k"): one,
        (at("return a"), "return"): one,
    }
    body = range(at("def net"), at("return a") + 1)
    unsure = (at("for b in"), "b"), (at("if e: f"), "f"), (at("h = k = a"), "h")  # known by name or by identity
    assert {key: value for key, value in found.items() if key[0] in body and key not in unsure} == expected


@pytest.mark.parametrize("python", pythons(), ids=lambda python: Path(python).parent.parent.name)
async def test_lambdas_tell_their_arguments_and_results(pool: WorkerPool, workspace: Path, python: str) -> None:
    # R25
    write(workspace, model=PROGRAM)
    document = await trace(pool, workspace, python, qualname="lambdas")
    assert "failure" not in document, document["failure"]
    found = {
        (one["function"], one["name"]): [tuple(seen["shape"]) for seen in one["seen"]]
        for one in document["observations"]
        if "<lambda>" in one["function"]
    }
    made = "maker.<locals>.<lambda>"
    assert found == {
        ("<lambda>", "u"): [(1,)],
        ("<lambda>", "v"): [(4,)],
        ("<lambda>", "key"): [(2,)],
        ("<lambda>", "return"): [(1,)],
        (made, "p"): [(5,)],
        (made, "return"): [(5,), (6,)],
        (made, "s"): [(7,)],  # of one that fails
        (f"{made}.<locals>.<lambda>", "q"): [(5,)],
        (f"{made}.<locals>.<lambda>", "return"): [(5,)],
        ("maker.<locals>.<genexpr>.<lambda>", "t"): [(8,)],
        ("maker.<locals>.<genexpr>.<lambda>", "return"): [(8,)],
        ("Holder.<lambda>", "n"): [(3,)],
        ("Holder.<lambda>", "return"): [(3,)],
    }
