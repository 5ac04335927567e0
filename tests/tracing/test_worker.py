"""What a trace worker reports of user code: sources, frames, shapes of locals, failures.

Through the pool, in real processes, on every Python that is there.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.tracing.workers import FAKE_WORKER, environment_of, request_for
from tvls.tracing.pool import WorkerPool


def pythons() -> list[str]:
    """The test suite's own Python, and an older and a newer one where the machine has them."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    others = [next(iter(sorted(root.glob(f"{version}.*/bin/python"))), None) for version in ("3.10", "3.12", "3.13")]
    return [sys.executable, *(str(python) for python in others if python is not None)]


@pytest.fixture(params=pythons(), ids=lambda python: Path(python).parent.parent.name)
def python(request: pytest.FixtureRequest) -> str:
    return request.param


def write(workspace: Path, **files: str | bytes) -> None:
    for name, text in files.items():
        path = workspace / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())


async def trace(pool: WorkerPool, workspace: Path, python: str = sys.executable, **changes: Any) -> Any:
    environment = environment_of(python, workspace)
    qualname = changes.pop("qualname", "net")
    return await pool.trace(environment, request_for(workspace, qualname, **changes), on_progress=lambda phase: None)


def seen(document: Any, what: str = "observations") -> dict[tuple[int, str], list[tuple[tuple[int, ...], int]]]:
    """Arrays by line and name."""
    return {
        (o["line"], o["name"]): [(tuple(s["shape"]), s["count"]) for s in o["seen"] if "shape" in s]
        for o in document[what]
        if any("shape" in s for s in o["seen"])
    }


async def run(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(*command)
    assert await process.wait() == 0


def digest_of(path: Path) -> str:
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


# --- sources ---------------------------------------------------------------------------------------------------------


async def test_sources_are_every_workspace_file_that_was_loaded_or_read(
    pool: WorkerPool, workspace: Path, python: str
) -> None:
    # R27
    (workspace / "data").mkdir()
    (workspace / "data" / "table.txt").write_text("3")
    (workspace / "data" / "unread.txt").write_text("4")
    (workspace / "data" / "written.txt").write_text("5")
    os.mkfifo(workspace / "data" / "pipe")
    (workspace / "pkg").mkdir()
    (workspace / "pkg" / "__init__.py").write_text("")
    site = workspace / ".venv" / "lib" / "site-packages"
    site.mkdir(parents=True)
    (site / "foreign.py").write_text("A = 1")
    write(
        workspace,
        pkg__inner="from . import sibling\n",
        pkg__sibling="X = 1\n",
        spacy__portion="Y = 2\n",
        unused="Z = 3\n",
        model="""
        import sys, os
        sys.path.append(os.path.join(os.getcwd(), ".venv", "lib", "site-packages"))
        import foreign
        import pkg.inner, spacy.portion
        def net():
            open("data/written.txt", "w").close()
            os.close(os.open(os.path.abspath("data/pipe"), os.O_RDONLY | os.O_NONBLOCK))
            try:
                open("data/missing.txt")
            except FileNotFoundError:
                pass
            return open("data/table.txt").read()
        """,
    )
    document = await trace(pool, workspace, python)
    found = {source["path"]: source["digest"] for source in document["sources"]}
    expected = ["data/table.txt", "model.py", "pkg/__init__.py", "pkg/inner.py", "pkg/sibling.py", "spacy/portion.py"]
    assert list(found) == expected
    assert found == {path: digest_of(workspace / path) for path in expected}


async def test_what_the_trace_itself_writes_is_no_source(pool: WorkerPool, workspace: Path, python: str) -> None:
    # R27: else a model that keeps a log or a cache would be stale as soon as it was traced
    files = ("log", "table", "cache", "moved", "weights", "counter", "old", "cut", "read")
    for name in files:
        (workspace / f"{name}.txt").write_text(name)
    write(
        workspace,
        helper="A = 1\n",
        model="""
        import mmap, os
        import helper
        def net():
            with open("log.txt", "a+") as log:
                log.seek(0)
                log.read()
                log.write("more")
            open("table.txt").read()
            open("table.txt", "w").close()
            open("cache.new", "w").write("new")
            os.replace("cache.new", "cache.txt")
            open("cache.txt").read()
            open("moved.txt").read()
            os.rename("moved.txt", "elsewhere.txt")
            with open("weights.txt", "r+b") as weights, mmap.mmap(weights.fileno(), 0) as mapped:
                first = chr(mapped[0])
            with open("counter.txt", "r+") as counter:
                counter.read()
                counter.write("more")
            open("counter.txt").read()
            open("old.txt").read()
            os.remove("old.txt")
            open("cut.txt").read()
            os.truncate("cut.txt", 1)
            open("helper.py", "a").write("# more")
            open("made.txt", "w").write("x")
            return first + open("read.txt").read() + open("made.txt").read()
        """,
    )
    before = digest_of(workspace / "helper.py")
    document = await trace(pool, workspace, python)
    assert document["outputs"] == {"static": "wreadx"}
    found = {source["path"]: source["digest"] for source in document["sources"]}
    assert list(found) == ["helper.py", "model.py", "read.txt", "weights.txt"]
    assert found["helper.py"] == before  # code counts as it was loaded


LAZY = """
import sys, types
class Raising(types.ModuleType):
    @property
    def __file__(self):
        raise RuntimeError("no file")
class Exiting:
    def __getattr__(self, name):
        raise SystemExit(name)
    @property
    def __dict__(self):
        raise KeyboardInterrupt
class Loading(types.ModuleType):
    def __getattr__(self, name):
        loaded.append(name)
        raise AttributeError(name)
class Liar(str):
    def startswith(self, *rest):
        raise ValueError
loaded = []
sys.modules["lazy_raising"] = Raising("lazy_raising")
sys.modules["lazy_exiting"] = Exiting()
sys.modules["lazy_loading"] = Loading("lazy_loading")
sys.modules["lying"] = types.ModuleType("lying")
sys.modules["lying"].__file__ = Liar(__file__)
sys.modules[5] = None
def net(x):
    return loaded
"""


async def test_modules_that_raise_when_they_are_looked_at_lose_no_trace(
    pool: WorkerPool, workspace: Path, python: str
) -> None:
    write(workspace, model=LAZY, make="def make():\n    return {'args': [1], 'kwargs': {}}\n")
    document = await trace(pool, workspace, python, inputs=from_factory("make.py"))
    assert document["outputs"] == {"static": []}, "looking at a lazy module loaded it"
    assert [source["path"] for source in document["sources"]] == ["make.py", "model.py"]


async def test_a_module_that_puts_a_stand_in_into_its_place_is_still_its_file(
    pool: WorkerPool, workspace: Path, python: str
) -> None:
    write(
        workspace,
        model="""
        import sys
        class Lazy:
            def __init__(self, module):
                self.__dict__["module"] = module
            def __getattr__(self, name):
                return getattr(self.module, name)
        def net():
            return __name__
        sys.modules[__name__] = Lazy(sys.modules[__name__])
        """,
    )
    assert (await trace(pool, workspace, python))["outputs"] == {"static": "model"}


async def test_the_bytes_that_are_hashed_are_compiled_and_not_a_stale_pyc(
    pool: WorkerPool, workspace: Path, python: str
) -> None:
    # R27
    write(workspace, model="def net():\n    return 1\n")
    status = (workspace / "model.py").stat()
    await run(python, "-m", "compileall", "-q", str(workspace))
    assert list(workspace.rglob("*.pyc"))  # noqa: ASYNC240
    write(workspace, model="def net():\n    return 2\n")
    os.utime(workspace / "model.py", ns=(status.st_atime_ns, status.st_mtime_ns))  # what a cache would go by
    document = await trace(pool, workspace, python)
    assert document["outputs"] == {"static": 2}
    assert document["sources"] == [{"path": "model.py", "digest": digest_of(workspace / "model.py")}]


async def test_no_bytecode_is_written(pool: WorkerPool, workspace: Path) -> None:
    write(workspace, other="A = 1\n", model="import other\ndef net():\n    return other.A\n")
    await trace(pool, workspace)
    assert not list(workspace.rglob("__pycache__"))  # noqa: ASYNC240


@pytest.mark.parametrize(
    "text",
    [
        "# coding: latin-1\ndef net():\n    return 'é'\n".encode("latin-1"),
        b"\xef\xbb\xbf" + "def net():\n    return 'é'\n".encode(),
        "def net():\r\n    return 'é'\r\n".encode(),
        "\x0cdef net():\n    return 'é'\n".encode(),
    ],
    ids=["latin-1", "bom", "crlf", "form feed"],
)
async def test_files_in_other_encodings_import_as_usual(
    pool: WorkerPool, workspace: Path, text: bytes, python: str
) -> None:
    write(workspace, model=text)
    assert (await trace(pool, workspace, python))["outputs"] == {"static": "é"}


async def test_an_import_hook_that_compiles_a_tree_of_its_own_is_respected(
    pool: WorkerPool, workspace: Path, python: str
) -> None:
    write(
        workspace,
        hook="""
        import ast, importlib.machinery, sys
        class Loader(importlib.machinery.SourceFileLoader):
            def source_to_code(self, data, path, *, _optimization=-1):
                tree = ast.parse(data, path)
                for node in ast.walk(tree):
                    if isinstance(node, ast.Constant) and node.value == 41:
                        node.value = 42
                return compile(tree, path, "exec", dont_inherit=True)
        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name != "hooked":
                    return None
                spec = importlib.machinery.PathFinder.find_spec(name, path)
                spec.loader = Loader(spec.loader.name, spec.loader.path)
                return spec
        sys.meta_path.insert(0, Finder())
        """,
        hooked="from fakearrays import Array\ndef f():\n    x = Array(41)\n    return 41\n",
        model="import hook, hooked\ndef net():\n    return hooked.f()\n",
    )
    document = await trace(pool, workspace, python)
    assert document["outputs"] == {"static": 42}
    assert [source["path"] for source in document["sources"]] == ["hook.py", "hooked.py", "model.py"]
    assert seen(document) == {(3, "x"): [((42,), 1)]}


async def test_a_target_named_like_a_standard_module_is_the_workspaces(
    pool: WorkerPool, workspace: Path, python: str
) -> None:
    write(
        workspace,
        types="import json\ndef net():\n    return json.dumps([__name__])\n",
        json="raise SystemExit('wrong')\n",
    )
    document = await trace(pool, workspace, python, module="types", path="types.py")
    assert document["outputs"] == {"static": '["types"]'}


async def test_pythonpath_of_the_user_counts_and_hides_nothing_of_the_worker(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = tmp_path / "extra"
    write(extra, helper="H = 5\n", json="raise SystemExit('wrong json')\n", tvls="raise SystemExit('wrong tvls')\n")
    write(
        workspace, vendored__inner="V = 6\n", model="import helper, inner\ndef net():\n    return [helper.H, inner.V]\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{extra}{os.pathsep}vendored")
    pool = WorkerPool(script=FAKE_WORKER)
    try:
        assert (await trace(pool, workspace))["outputs"] == {"static": [5, 6]}
        assert pool.status()[0].state == "warm"
    finally:
        await pool.aclose()


# --- shapes of locals ------------------------------------------------------------------------------------------------

LOCALS = """
from fakearrays import Array

def decorator(f):
    return f

@decorator
@decorator
def net(a=Array(1), *rest,
        b=Array(2), **named):
    x = Array(3)
    for i in range(3):
        x = Array(i)
        y, *others = x, x
    z = w = (
        Array(4)
    )
    del z
    z: object = Array(5)
    with open(__file__) as file, manager() as m:
        pass
    if (v := Array(6)).shape:
        n = None
    inner(x)
    list(numbers())
    self = Holder()
    self.field = Array(7)
    [c for c in [Array(8)]]
    return self.method(Array(9))

def inner(p):
    def nested(q):
        return q
    return nested(p)

def numbers():
    for g in (Array(10), Array(11)):
        yield g

class manager:
    def __enter__(self): return Array(12)
    def __exit__(self, *a): pass

class Holder:
    def method(self, h):
        try:
            raise ValueError
        except ValueError:
            return h
"""


async def test_locals_are_seen_where_they_are_bound(pool: WorkerPool, workspace: Path, python: str) -> None:
    # R25
    write(workspace, model=LOCALS)
    document = await trace(pool, workspace, python)
    found = seen(document)
    lines = LOCALS.splitlines()

    def at(text: str) -> int:
        return next(number for number, line in enumerate(lines, 1) if text in line)

    assert found[at("def net"), "a"] == [((1,), 1)]
    assert found[at("b=Array(2)"), "b"] == [((2,), 1)]
    assert found[at("x = Array(3)"), "x"] == [((3,), 1)]
    assert found[at("x = Array(i)"), "x"] == [((0,), 1), ((1,), 1), ((2,), 1)]
    assert found[at("y, *others"), "y"] == [((0,), 1), ((1,), 1), ((2,), 1)]
    assert found[at("z = w"), "z"] == [((4,), 1)]
    assert found[at("z = w"), "w"] == [((4,), 1)]
    assert found[at("z: object"), "z"] == [((5,), 1)]
    assert found[at("with open"), "m"] == [((12,), 1)]
    assert found[at("if (v"), "v"] == [((6,), 1)]
    assert found[at("def inner"), "p"] == [((2,), 1)]
    assert found[at("def nested"), "q"] == [((2,), 1)]
    assert found[at("return q"), "return"] == [((2,), 1)]
    assert found[at("for g in"), "g"] == [((10,), 1), ((11,), 1)]
    assert found[at("def method"), "h"] == [((9,), 1)]
    assert found[at("return h"), "return"] == [((9,), 1)]
    assert found[at("return self.method"), "return"] == [((9,), 1)]
    functions = {observation["function"] for observation in document["observations"]}
    assert {"net", "inner", "inner.<locals>.nested", "numbers", "Holder.method"} <= functions


async def test_shapes_of_a_workspace_library_that_the_framework_itself_imports(
    pool: WorkerPool, workspace: Path, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # R25
    monkeypatch.setenv("FAKE_PRELOAD", "workspace")
    monkeypatch.setenv("PYTHONPATH", str(workspace))
    write(
        workspace,
        part="""\
        def middle(x):
            y = x
            return y
        """,
        model="""\
        import part
        from fakearrays import Array
        def net():
            return part.middle(Array(2, 3))
        """,
    )
    document = await trace(pool, workspace, python)
    assert "failure" not in document
    found = {(o["path"], o["line"], o["name"]) for o in document["observations"]}
    assert found >= {("part.py", 1, "x"), ("part.py", 2, "y"), ("part.py", 3, "return")}


async def test_what_an_import_finds_in_place_of_the_file_is_told_apart(
    pool: WorkerPool, workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # R35: a folder without `__init__.py` gives way to an installed package, whose file may have the same name
    write(workspace, pkg__model="def net():\n    return 1\n", other__pkg__model="def net():\n    return 2\n")
    write(tmp_path / "installed", pkg__model="def net():\n    return 3\n")
    for package in (workspace / "other" / "pkg", tmp_path / "installed" / "pkg"):
        (package / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "installed"))
    document = await trace(pool, workspace, module="pkg.model", path="pkg/model.py")
    message = document["failure"]["message"]
    assert "finds pkg/model.py of an installed package, not the workspace's pkg/model.py" in message
    assert document["failure"]["key"] == "model"
    assert "__init__.py" in document["failure"]["hint"]
    roots = [str(workspace / "other"), str(workspace)]
    document = await trace(pool, workspace, module="pkg.model", path="pkg/model.py", sysPath=roots)
    message = document["failure"]["message"]
    assert "finds the workspace's other/pkg/model.py, not its pkg/model.py" in message


@pytest.mark.parametrize("lines", [1900, 10_000])
async def test_a_function_of_many_lines_and_locals_is_recorded_in_time(
    pool: WorkerPool, workspace: Path, python: str, lines: int
) -> None:
    # R25: one look at all locals for each line would take minutes
    body = "".join(f"    x{i} = Array({i})\n" for i in range(lines))
    write(workspace, model=f"from fakearrays import Array\ndef net(n=1):\n{body}    x0 = Array(7)\n    return n\n")
    document = await trace(pool, workspace, python, limits={"seconds": 20})
    assert document["outputs"] == {"static": 1}
    found = seen(document)
    assert found[lines + 2, f"x{lines - 1}"] == [((lines - 1,), 1)]
    assert found[3, "x0"] == [((0,), 1)]
    assert found[lines + 3, "x0"] == [((7,), 1)]
    assert len(found) == lines + 1


async def test_a_deep_recursion_of_a_long_function_fails_in_time(
    pool: WorkerPool, workspace: Path, python: str
) -> None:
    body = "    if n < 0:\n" + "        x = n\n" * 9998
    write(
        workspace,
        model=f"import sys\nsys.setrecursionlimit(6000)\ndef net(n=4000):\n{body}"
        "    return net(n - 1) if n else 1 / 0\n",
    )
    failure = (await trace(pool, workspace, python, limits={"seconds": 20}))["failure"]
    assert (failure["type"], failure["frames"][0]["line"]) == ("ZeroDivisionError", 10_003)


GENERATORS = """
from fakearrays import Array
def net():
    kept.append(numbers())
    next(kept[0])
    text = [g for g in [1]]
    del text
    return later(lambda: x)
kept = []
def numbers():
    a = Array(1)
    yield a
    b = Array(2)
def later(f):
    global x
    x = Array(3)
    y = f()
    def inner():
        nonlocal y
        y = Array(4)
    inner()
    try:
        z = Array(5); z = Array(6); z.missing
    except AttributeError:
        return len(kept)
"""


async def test_unfinished_generators_cells_and_handled_errors_are_recorded(
    pool: WorkerPool, workspace: Path, python: str
) -> None:
    # R25
    write(workspace, model=GENERATORS)
    document = await trace(pool, workspace, python)
    assert document["outputs"] == {"static": 1}
    found = {name: shapes for (_, name), shapes in seen(document).items()}
    assert found["a"] == [((1,), 1)]
    assert "b" not in found
    assert ((4,), 1) in found["y"]
    assert ((6,), 1) in found["z"]


async def test_a_trace_that_fails_keeps_the_shapes_up_to_the_failing_line(
    pool: WorkerPool, workspace: Path, python: str
) -> None:
    # R35
    write(
        workspace,
        model="""\
        from fakearrays import Array
        def layer(x):
            y = Array(3, 4)
            z = y.shape + x
            return z
        def net():
            x = Array(2, 3)
            return layer(x)
        """,
    )
    document = await trace(pool, workspace, python)
    failure = document["failure"]
    assert (failure["type"], failure["phase"], failure["kind"]) == ("TypeError", "trace", "exception")
    assert [(f["path"], f["function"], f["line"]) for f in failure["frames"]][:2] == [
        ("model.py", "layer", 4),
        ("model.py", "net", 8),
    ]
    if python == sys.executable:  # Python 3.10 has no columns
        assert (failure["frames"][0]["column"], failure["frames"][0]["endColumn"]) == (8, 19)
    assert seen(document) == {
        (2, "x"): [((2, 3), 1)],
        (3, "y"): [((3, 4), 1)],
        (7, "x"): [((2, 3), 1)],
    }
    assert "operations" not in document
    assert not any("tvls" in frame["path"] for frame in failure["frames"])


async def test_recording_changes_no_position_and_no_behaviour(pool: WorkerPool, workspace: Path, python: str) -> None:
    write(
        workspace,
        model='''\
        """Docstring."""
        from __future__ import annotations
        import inspect, sys
        class Base:
            def method(self, x):
                """Says something."""
                __private = x
                return __private
        class Derived(Base):
            def method(self, x):
                y = super().method(x); return y
        async def coroutine(x):
            y = x
            return y
        def net():
            global G
            G = 1
            match {"a": 2, "b": 3}:
                case {"a": a, **rest}:
                    pass
            frame = sys._getframe(); here = frame.f_lineno
            names = sorted(locals())
            return [Derived().method(4), Base.method.__doc__, __doc__, G, a, rest, here, names,
                    inspect.getsource(Base.method).count("\\n"), str(inspect.signature(Derived.method)),
                    inspect.iscoroutinefunction(coroutine), Base.method.__code__.co_firstlineno]
        ''',
    )
    document = await trace(pool, workspace, python)
    assert document["outputs"]["static"] == [
        4, "Says something.", "Docstring.", 1, 2, {"b": 3}, 21, ["a", "frame", "here", "rest"], 4, "(self, x)", True, 5
    ]  # fmt: skip


# --- failures --------------------------------------------------------------------------------------------------------

FAILURES = {
    "SystemExit": "raise SystemExit(3)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "GeneratorExit": "raise GeneratorExit",
    "RecursionError": "f = lambda: f()\n    f()",
    "StopIteration": "next(iter(()))",
    "ZeroDivisionError": "1 / 0",
}


@pytest.mark.parametrize("name", FAILURES)
async def test_whatever_user_code_raises_is_a_failure_with_its_frame(
    pool: WorkerPool, workspace: Path, name: str
) -> None:
    # R22
    write(workspace, model=f"def net():\n    {FAILURES[name]}\n")
    failure = (await trace(pool, workspace))["failure"]
    assert (failure["type"], failure["kind"], failure["phase"]) == (name, "exception", "trace")
    assert failure["frames"][0]["path"] == "model.py"


HOSTILE = {
    "str exits": "class E(Exception):\n    def __str__(self):\n        raise SystemExit",
    "everything raises": "class E(BaseException):\n    def __getattribute__(self, name):\n        raise E()",
    "no traceback": "class E(Exception):\n    @property\n    def __traceback__(self):\n        raise KeyboardInterrupt",
    "odd string": "class S(str):\n    def strip(self):\n        raise E\nclass E(Exception):\n"
    "    def __str__(self):\n        return S('x')",
    "odd class": "class M(type):\n    def __getattribute__(self, name):\n        raise KeyError\n"
    "class E(Exception, metaclass=M):\n    pass",
    "odd module": "class E(Exception):\n    pass\nE.__module__ = 5",
    "odd globals": "class E(Exception):\n    pass\n__name__ = 5",
    "tracer": "import sys\nclass E(Exception):\n    pass\ndef hook(*event):\n    raise ValueError\n"
    "class E(Exception):\n    def __init__(self):\n        sys.setprofile(hook)",
}


@pytest.mark.parametrize("how", HOSTILE)
async def test_an_exception_that_raises_when_it_is_looked_at_is_still_a_failure(
    pool: WorkerPool, workspace: Path, python: str, how: str
) -> None:
    # R22
    write(workspace, model=HOSTILE[how] + "\ndef net():\n    raise E\n")
    failure = (await trace(pool, workspace, python))["failure"]
    assert failure["phase"] == "trace"
    assert isinstance(failure["message"], str)
    assert how in ("no traceback", "tracer") or failure["type"].endswith("E")
    assert how in ("no traceback", "tracer") or failure["frames"][0]["path"] == "model.py"


async def test_a_syntax_error_in_an_imported_file_shows_the_line(
    pool: WorkerPool, workspace: Path, python: str
) -> None:
    write(workspace, broken="x = 1\nif x == 'é' é é:\n    pass\n", model="import broken\ndef net():\n    pass\n")
    document = await trace(pool, workspace, python)
    failure = document["failure"]
    assert (failure["type"], failure["phase"]) == ("SyntaxError", "import")
    assert (failure["frames"][0]["path"], failure["frames"][0]["line"]) == ("broken.py", 2)
    assert (failure["frames"][1]["path"], failure["frames"][1]["line"]) == ("model.py", 1)
    assert {source["path"] for source in document["sources"]} == {"broken.py", "model.py"}


async def test_messages_name_no_address_and_no_place_of_this_machine(
    pool: WorkerPool, workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "elsewhere" / "notes.txt"
    outside.parent.mkdir()
    outside.write_text("")
    write(
        workspace,
        model=f"""
        import os, json
        class Odd(Exception):
            def __str__(self):
                raise RuntimeError
        def net():
            raise ValueError(f"{{object()}} in {{__file__}} and {{json.__file__}} and {outside}, "
                             f"not in /Dense_0/kernel, "
                             f"3/4 or https://docs.jax.dev/en/latest/errors.html#x and {{os.getcwd()}}/data/x.npz")
        def odd():
            raise Odd
        def long():
            raise ValueError("x" * 100_000_000)
        """,
    )
    failure = (await trace(pool, workspace))["failure"]
    assert failure["message"] == (
        "<object object at 0x…> in model.py and json/__init__.py and notes.txt, not in /Dense_0/kernel, "
        "3/4 or https://docs.jax.dev/en/latest/errors.html#x and data/x.npz"
    )
    assert "RuntimeError" in (await trace(pool, workspace, qualname="odd"))["failure"]["message"]
    long = (await trace(pool, workspace, qualname="long", limits={"seconds": 10}))["failure"]
    assert len(long["message"]) <= 300
    assert len(long["detail"]) < 21_000


async def test_a_missing_device_fails_before_the_model_is_imported(pool: WorkerPool, workspace: Path) -> None:
    # R21
    write(workspace, model="open('imported', 'w')\ndef net():\n    pass\n")
    failure = (await trace(pool, workspace, device="cuda:7"))["failure"]
    assert (failure["kind"], failure["key"], failure["frames"]) == ("device", "device", [])
    assert not (workspace / "imported").exists()


async def test_a_target_that_is_not_there_is_a_fault_of_the_setup(pool: WorkerPool, workspace: Path) -> None:
    write(workspace, model="def net():\n    pass\n")
    failure = (await trace(pool, workspace, qualname="Net.inner"))["failure"]
    assert (failure["kind"], failure["key"]) == ("setup", "model")
    assert "Net.inner" in failure["message"]


# --- factories -------------------------------------------------------------------------------------------------------


def from_factory(file: str, name: str = "make", **kwargs: Any) -> dict[str, Any]:
    return {"factory": {"file": file, "callable": name, "kwargs": kwargs}}


async def test_a_factory_is_called_with_its_arguments_and_its_file_counts(pool: WorkerPool, workspace: Path) -> None:
    # R12
    write(
        workspace,
        model="class Net:\n    pass\ndef net(x, kind):\n    return [x, kind is Net]\n",
        tools__make="""
        import model
        class A:
            @staticmethod
            def make(n, t):
                return {"args": [[n, t]], "kwargs": {"kind": model.Net}}
        """,
    )
    inputs = from_factory("tools/make.py", "A.make", n=3, t={"kind": "tuple", "items": [1, 2]})
    document = await trace(pool, workspace, inputs=inputs)
    assert document["outputs"] == {"static": [[3, [1, 2]], True]}
    assert [source["path"] for source in document["sources"]] == ["model.py", "tools/make.py"]


async def test_a_factory_in_the_models_own_file_shares_its_module(pool: WorkerPool, workspace: Path) -> None:
    # R12
    write(
        workspace,
        model="""
        class Net:
            pass
        def net(x):
            return type(x) is Net
        def make():
            return {"args": [Net()], "kwargs": {}}
        """,
    )
    assert (await trace(pool, workspace, inputs=from_factory("model.py")))["outputs"] == {"static": True}


async def test_a_factory_that_raises_keeps_its_frames(pool: WorkerPool, workspace: Path) -> None:
    write(
        workspace,
        model="def net():\n    pass\n",
        make="def make():\n    return helper()\ndef helper():\n    return [][0]\n",
    )
    failure = (await trace(pool, workspace, inputs=from_factory("make.py")))["failure"]
    assert (failure["phase"], failure["type"]) == ("inputs", "IndexError")
    assert [(f["path"], f["line"]) for f in failure["frames"][:2]] == [("make.py", 4), ("make.py", 2)]


@pytest.mark.parametrize(
    "file", ["../outside.py", "/etc/passwd", "link.py", "a/../../outside.py", "missing.py", "folder"]
)
async def test_a_factory_outside_the_workspace_is_refused(
    pool: WorkerPool, workspace: Path, tmp_path: Path, file: str
) -> None:
    # R4, R12
    canary = tmp_path / "ran"
    (tmp_path / "outside.py").write_text(f"open({str(canary)!r}, 'w')\ndef make():\n    return {{}}\n")
    (workspace / "link.py").symlink_to(tmp_path / "outside.py")
    (workspace / "a").mkdir()
    (workspace / "folder").mkdir()
    write(workspace, model="def net():\n    pass\n")
    failure = (await trace(pool, workspace, inputs=from_factory(file)))["failure"]
    assert failure["kind"] == "setup"
    assert failure["key"].endswith("file")
    assert not canary.exists()


async def test_a_workspace_reached_through_a_link_is_still_the_workspace(
    pool: WorkerPool, workspace: Path, tmp_path: Path
) -> None:
    write(workspace, model="def net():\n    return open('model.py').read()[:3]\n")
    link = tmp_path / "link"
    link.symlink_to(workspace)
    document = await trace(pool, link)
    assert [source["path"] for source in document["sources"]] == ["model.py"]
    assert document["frames"][0]["path"] == "model.py"


async def test_a_python_inside_the_workspace_is_not_its_source(workspace: Path, tmp_path: Path) -> None:
    # R27: a virtual environment under any name
    venv = workspace / "myenv"
    await run(sys.executable, "-m", "venv", "--without-pip", str(venv))
    site = next(venv.glob("lib/*/site-packages"))
    (site / "library.py").write_text("def call(f):\n    return f()\n")
    (venv / "bin" / "data.txt").write_text("x")
    write(
        workspace,
        model="""
        import library
        def net():
            open("myenv/bin/data.txt").close()
            return library.call(lambda: 1 / 0)
        """,
    )
    pool = WorkerPool(script=FAKE_WORKER)
    try:
        document = await trace(pool, workspace, str(venv / "bin" / "python"))
    finally:
        await pool.aclose()
    assert [source["path"] for source in document["sources"]] == ["model.py"]
    frames = [(frame["path"], frame["workspace"]) for frame in document["failure"]["frames"][:3]]
    assert frames == [("model.py", True), ("library.py", False), ("model.py", True)]
    shutil.rmtree(venv)
