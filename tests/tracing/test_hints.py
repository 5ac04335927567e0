"""What a failure says of mistakes that have nothing to do with a framework."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tracing.test_worker import trace, write
from tvls.tracing.pool import WorkerPool


async def failure(pool: WorkerPool, workspace: Path, **changes: Any) -> Any:
    return (await trace(pool, workspace, **changes))["failure"]


async def test_a_module_of_the_workspace_that_is_not_found(pool: WorkerPool, workspace: Path) -> None:
    # R22, R35
    write(workspace, model="import helpers.layers\ndef net():\n    pass\n", lib__helpers__layers="")
    found = await failure(pool, workspace)
    assert (found["type"], found["phase"]) == ("ModuleNotFoundError", "import")
    assert found["message"] == "No module named 'helpers'"
    assert found["hint"].startswith("install the package that provides `helpers`")
    write(workspace, lib__helpers__init="")
    (workspace / "lib" / "helpers" / "init.py").rename(workspace / "lib" / "helpers" / "__init__.py")
    hint = (await failure(pool, workspace))["hint"]
    assert hint == "lib/helpers is in the workspace, but lib is not among the folders that imports are searched in"
    assert (found["frames"][0]["path"], found["frames"][0]["line"]) == ("model.py", 1)


async def test_a_module_beside_the_file_is_found_where_nothing_else_has_its_name(
    pool: WorkerPool, workspace: Path
) -> None:
    # as where the file is run by its path
    model = "import bisect, beside\nbisect.bisect, beside.absent\n"
    write(workspace, core__model=model, core__beside="", core__bisect="")
    found = await failure(pool, workspace, module="core.model", path="core/model.py")
    assert found["message"] == "module 'beside' has no attribute 'absent'"


async def test_a_relative_import_without_a_package(pool: WorkerPool, workspace: Path) -> None:
    write(workspace, model="from .parts import f\ndef net():\n    pass\n", parts="f = 1\n")
    assert "open a folder around its package" in (await failure(pool, workspace))["hint"]


async def test_a_distribution_whose_name_is_a_whole_message(pool: WorkerPool, workspace: Path) -> None:
    write(workspace, model="import importlib.metadata as m\nraise m.PackageNotFoundError('parts, and try pip')\n")
    hint = (await failure(pool, workspace))["hint"]
    assert hint == "install the distribution that it names in the selected Python"


async def test_a_library_that_is_not_installed(pool: WorkerPool, workspace: Path) -> None:
    write(workspace, model="import no_such_library.parts\ndef net():\n    pass\n")
    found = await failure(pool, workspace)
    assert found["hint"] == "install the package that provides `no_such_library` in the selected Python"


async def test_a_library_without_that_part(pool: WorkerPool, workspace: Path) -> None:
    write(workspace, model="import json.parts\ndef net():\n    pass\n")
    assert "`json` is installed and has no `parts`" in (await failure(pool, workspace))["hint"]


async def test_modules_that_import_each_other(pool: WorkerPool, workspace: Path) -> None:
    write(
        workspace,
        model="from other import f\ndef net():\n    pass\n",
        other="from model import net\ndef f():\n    pass\n",
    )
    found = await failure(pool, workspace)
    assert found["type"] == "ImportError"
    assert "import each other" in found["hint"]
    assert [frame["path"] for frame in found["frames"][:2]] == ["other.py", "model.py"]


@pytest.mark.parametrize(("code", "says"), [("sys.exit(2)", "sys.exit(2)"), ("sys.exit('why')", "sys.exit('why')")])
async def test_an_exit(pool: WorkerPool, workspace: Path, code: str, says: str) -> None:
    write(workspace, model=f"import sys\ndef net():\n    {code}\n")
    found = await failure(pool, workspace)
    assert found["message"] == f"the code ended the process: {says}"
    assert "__main__" in found["hint"]


async def test_a_recursion_shows_one_round_of_it(pool: WorkerPool, workspace: Path) -> None:
    write(
        workspace, model="def net():\n    return a(0)\ndef a(n):\n    return b(n)\ndef b(n):\n    return a(len([n]))\n"
    )
    found = await failure(pool, workspace)
    assert found["hint"].startswith(("`a` calls itself", "`b` calls itself"))
    lines = [(frame["function"], frame["line"]) for frame in found["frames"] if frame["workspace"]]
    assert sorted(lines) == [("a", 4), ("b", 6), ("net", 2)]


async def test_out_of_memory(pool: WorkerPool, workspace: Path) -> None:
    # R22
    write(workspace, model="def net():\n    return len(bytearray(1 << 40))\n")
    found = await failure(pool, workspace)
    assert (found["kind"], found["limit"]) == ("limit", "memory_bytes")
    assert "more memory than the limit" in found["message"]
    assert found["frames"][0]["line"] == 2


async def test_an_error_that_was_handled_is_not_the_place(pool: WorkerPool, workspace: Path) -> None:
    # the standard library raises the second one, in a frame of its own
    write(
        workspace,
        model="""
        import json
        def net():
            try:
                {}["missing"]
            except KeyError:
                json.loads("{")
        """,
    )
    found = await failure(pool, workspace)
    own = next(frame for frame in found["frames"] if frame["workspace"])
    assert own["line"] == 7
