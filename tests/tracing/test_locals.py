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


READS = """\
from collections import namedtuple
from dataclasses import dataclass
from fakearrays import Array

Pair = namedtuple("Pair", "first second")

@dataclass
class Batch:
    image: object
    extra: object = None
    def __getattribute__(self, name): raise RuntimeError

class Strange(dict):
    def items(self): raise RuntimeError

class Key:
    def __repr__(self): raise RuntimeError

@dataclass
class Layer:
    weight: object
    def __call__(self, x): return x

def grow(x):
    return Array(x.shape[0] * 2)

def one_line():
    x = Array(1)
    for _ in range(3): x = grow(x)
    y = [z for z in (x, grow(x))]
    return x, y

def net():
    x = Array(1)
    for _ in range(3):
        x = grow(x)
        y = x
    if x is None:
        y = x
    else:
        z = y
    n = 4
    while n > 2:
        n -= 1; x = grow(x)
    def inner(): return (
        x)
    inner()
    w = x if n else y
    u = n and x
    t = x or x
    v = [grow(
        s) for s in (x, y)]
    k = None
    for k in (k, x):
        a = k
    match x:
        case b: c = b
    y = (d := x) and d
    del y
    more = []
    for e in (x, z):
        more.append(e)
    pair = Pair(x, {"h": [x, 1], Key(): z})
    batch = Batch(x)
    strange = Strange(x=x), Layer(x)
    many = [x] * 101
    cycle = [x]; cycle.append(cycle)
    return pair, batch, strange, many, cycle, more
"""


@pytest.mark.parametrize("python", pythons(), ids=lambda python: Path(python).parent.parent.name)
@pytest.mark.parametrize("long", [False, True], ids=["short", "long"])
async def test_what_a_line_reads_is_what_was_there(pool: WorkerPool, workspace: Path, python: str, long: bool) -> None:
    # R25
    write(workspace, model=READS + "\n" * 2100 * long)
    document = await trace(pool, workspace, python)
    assert "failure" not in document, document["failure"]
    found = seen(document, "reads")
    lines = READS.splitlines()

    def at(text: str, name: str) -> list[tuple[int, int]]:
        """Sizes and counts."""
        number = next(number for number, line in enumerate(lines, 1) if text in line)
        return [(shape[0], count) for shape, count in found.get((number, name), [])]

    assert at("        x = grow(x)", "x") == [(1, 1), (2, 1), (4, 1)]  # from before, and from the turn before
    assert at("        y = x", "x") == [(2, 1), (4, 1), (8, 1)]
    assert at("if x is None", "x") == [(8, 1)]
    assert at("z = y", "y") == [(8, 1)]
    assert at("n -= 1", "x") == [(8, 1), (16, 1)]
    assert at("        x)", "x") == [(32, 1)]  # of the function around
    assert at("w = x", "x") == [(32, 1)]
    assert at("u = n", "x") == [(32, 1)]
    assert at("t = x or x", "x") == [(32, 1)]
    assert at("        s) for s", "s") == [(32, 1), (8, 1)]
    assert at("        s) for s", "x") == [(32, 1)]
    assert at("        a = k", "k") == [(32, 1)]
    assert at("match x", "x") == [(32, 1)]
    assert at("more.append", "e") == [(32, 1), (8, 1)]
    branch = [number for number, line in enumerate(lines, 1) if line == "        y = x"][1]
    assert (branch, "x") not in found  # a branch that never ran
    [k] = [one for one in document["reads"] if one["name"] == "k"]
    assert sum(one["count"] for one in k["seen"]) == 2  # once it was no array


@pytest.mark.parametrize("python", pythons(), ids=lambda python: Path(python).parent.parent.name)
async def test_loops_on_one_line(pool: WorkerPool, workspace: Path, python: str) -> None:
    # R25
    write(workspace, model=READS)
    document = await trace(pool, workspace, python, qualname="one_line")
    assert "failure" not in document, document["failure"]
    lines = READS.splitlines()
    loop, made = (
        lines.index(f"    {text}") + 1 for text in ("for _ in range(3): x = grow(x)", "y = [z for z in (x, grow(x))]")
    )
    assert seen(document)[loop, "x"] == [((2,), 1), ((4,), 1), ((8,), 1)]
    reads = seen(document, "reads")
    assert reads[loop, "x"] == [((1,), 1), ((2,), 1), ((4,), 1)]
    assert reads[made, "z"] == [((8,), 1), ((16,), 1)]


@pytest.mark.parametrize("python", pythons(), ids=lambda python: Path(python).parent.parent.name)
async def test_objects_are_looked_into_without_their_code(pool: WorkerPool, workspace: Path, python: str) -> None:
    # R25
    write(workspace, model=READS)
    document = await trace(pool, workspace, python)
    assert "failure" not in document, document["failure"]

    def held(line: str, name: str, what: str = "reads") -> list[tuple[str, list[tuple[str, int]], bool]]:
        number = READS.splitlines().index(line) + 1
        kinds = [
            document["structures"][seen["structure"]]
            for one in document[what]
            if (one["line"], one["name"]) == (number, name)
            for seen in one["seen"]
            if "structure" in seen
        ]
        return [
            (
                kind["type"],
                [(".".join(map(str, array["path"])), array["shape"][0]) for array in kind["arrays"]],
                kind.get("cut", False),
            )
            for kind in kinds
        ]

    end = "    return pair, batch, strange, many, cycle, more"
    assert held(end, "pair") == [("Pair", [("first", 32), ("second.h.0", 32), ("second.…", 8)], False)]
    assert held(end, "batch") == [("Batch", [("image", 32)], False)]
    assert held(end, "strange") == []
    [(kind, arrays, cut)] = held(end, "many")
    assert (kind, len(arrays), cut) == ("list", 100, True)
    [(kind, arrays, cut)] = held(end, "cycle")
    assert (kind, arrays[0], cut) == ("list", ("0", 32), True)
    assert held("        more.append(e)", "more") == [("list", [("0", 32)], False)]  # before: empty, then of one
    assert held(end, "more") == [("list", [("0", 32), ("1", 8)], False)]
    assert held("    more = []", "more", "observations") == []  # what it holds later is not what it held then
    assert held("    batch = Batch(x)", "batch", "observations") == held(end, "batch")
