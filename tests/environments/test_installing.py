"""From a missing library to an approved installation, with real environments, a real pip and small stand-in wheels."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.environments.stand_ins import (
    environ_of,
    installed_in,
    make_environment,
    make_index,
    make_template,
    make_wheel,
)
from tests.environments.test_environments import environment_with
from tests.lsp.client import LspClient, ResponseError
from tvls.environments.install import describe_difference
from tvls.environments.installer import Installer
from tvls.environments.plan import Plan
from tvls.protocol import types_environment as te

ASKING = {"window": {"showMessage": {"messageActionItem": {}}, "showDocument": {"support": True}}}
LITERALS = {"codeActionKind": {"valueSet": [""]}}
MODEL = "import jax.numpy as jnp\n\n\ndef net(x):\n    return jnp.sin(x)\n"
Start = Callable[..., AbstractAsyncContextManager[LspClient]]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_index(tmp_path_factory.mktemp("index"))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("template") / "venv")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL)
    return folder


@pytest.fixture
def make(folder: Path, template: Path, index: Path) -> Callable[[Sequence[str]], Path]:
    """Makes `.venv` of the folder with these distributions. Returns its folder."""

    def make(installed: Sequence[str]) -> Path:
        make_environment(template, folder / ".venv", index, installed)
        return folder / ".venv"

    return make


@pytest.fixture
def start(tmp_path: Path, folder: Path, index: Path) -> Start:
    @asynccontextmanager
    async def start(
        capabilities: dict[str, Any] | None = None, trusted: bool = True, **environ: str
    ) -> AsyncIterator[LspClient]:
        env = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        async with LspClient.start(env={**env, **environ_of(index), **environ}) as client:
            options = {"trustedFolders": [folder.as_uri()] if trusted else []}
            await client.initialize(capabilities or {}, [folder], options)
            yield client
            await client.shut_down()

    return start


async def refused(client: LspClient, **params: Any) -> ResponseError:
    with pytest.raises(ResponseError) as raised:
        await client.ask("tvls/environment/plan", params).result(120)
    assert raised.value.data["nextStep"]
    return raised.value


async def test_torch_stays_as_it_is_while_jax_comes(start: Start, make: Callable[..., Path]) -> None:  # R2
    prefix = make(["torch", "numpy==2.1.0", "msgpack==0.9"])
    before = installed_in(prefix)
    async with start() as client:
        plan = await client.ask("tvls/environment/plan", {"kind": "flax.linen"}).result(120)
        assert installed_in(prefix) == before
        assert plan["held"] == {"numpy": "2.1.0", "torch": "2.13.0+cpu"}
        changes = {change["name"]: change for change in plan["changes"]}
        assert {name: change["version"] for name, change in changes.items()} == {
            "jax": "0.10.2",
            "jaxlib": "0.10.2",
            "flax": "0.12.8",
            "msgpack": "1.1",
        }
        assert (changes["msgpack"]["previous"], changes["msgpack"]["change"]) == ("0.9", "upgrade")
        assert [name for name, change in changes.items() if change.get("requested")] == ["flax", "jax"]
        for said in ("0.9 → 1.1", "torch 2.13.0+cpu", "pip", str(prefix), "jax==0.10.2"):
            assert said in plan["text"]
        params = {"planId": plan["planId"], "workDoneToken": "w"}
        result = await client.ask("tvls/environment/install", params).result(120)
        assert result["message"].startswith("Installed flax 0.12.8, jax 0.10.2 and 2 more")
        assert installed_in(prefix) == {
            *{"torch-2.13.0+cpu", "numpy-2.1.0", "filelock-3.0"},
            *{"jax-0.10.2", "jaxlib-0.10.2", "flax-0.12.8", "msgpack-1.1"},
        }
        kinds = [m["params"]["value"]["kind"] for m in client.received if m.get("method") == "$/progress"]
        assert (kinds[0], kinds[-1], "report" in kinds) == ("begin", "end", True)
        logged = [m["params"]["message"] for m in client.received if m.get("method") == "window/logMessage"]
        assert any("Successfully installed" in line for line in logged)
        again = await client.ask("tvls/environment/install", params).error()
        assert again.data["kind"] == "planGone"


async def test_a_plan_that_cannot_hold_numpy_is_refused(start: Start, make: Callable[..., Path]) -> None:  # R2
    prefix = make(["torch", "numpy==1.26.4"])
    before = installed_in(prefix)
    async with start() as client:
        error = await refused(client, kind="jax.function")
        assert (error.data["kind"], error.data["reason"]) == ("planRefused", "holdsBroken")
        assert "numpy 1.26.4 → 2.2.0" in error.message
        assert "needs numpy>=2.0" in error.message
        error = await refused(client, requirements=["numpy>=2"])
        assert error.data["reason"] == "holdsBroken"
    assert installed_in(prefix) == before


async def test_what_is_there_is_planned_for_what_it_is(start: Start, make: Callable[..., Path]) -> None:  # R2
    prefix = make(["jax==0.4.38", "numpy==2.1.0"])
    async with start() as client:
        plan = await client.ask("tvls/environment/plan", {}).result(120)  # what the folder's models need
        assert plan["requirements"] == ["jax>=0.6.1"]
        assert plan["held"] == {"numpy": "2.1.0"}  # jaxlib goes with the jax that is too old
        assert {change["name"]: change["change"] for change in plan["changes"]} == {
            "jax": "upgrade",
            "jaxlib": "upgrade",
        }
        await client.ask("tvls/environment/install", {"planId": plan["planId"]}).result(120)
        assert installed_in(prefix) == {"jax-0.10.2", "jaxlib-0.10.2", "numpy-2.1.0"}
        plan = await client.ask("tvls/environment/plan", {"requirements": ["jax"]}).result(120)
        assert plan["changes"] == []
        assert plan["held"] == {"jaxlib": "0.10.2", "numpy": "2.1.0"}
        result = await client.request("tvls/environment/install", {"planId": plan["planId"]})
        assert "has everything" in result["message"]


async def test_a_changed_environment_needs_a_new_plan(start: Start, make: Callable[..., Path], index: Path) -> None:
    prefix = make([])
    async with start() as client:
        plan = await client.ask("tvls/environment/plan", {"requirements": ["jax"]}).result(120)
        (site,) = prefix.glob("lib/python*/site-packages")
        (site / "other-1.0.dist-info").mkdir()
        error = await client.ask("tvls/environment/install", {"planId": plan["planId"]}).error()
        assert error.data["kind"] == "planGone"
        assert "changed" in error.message
        error = await client.ask("tvls/environment/install", {"planId": "made-up"}).error()
        assert error.data["kind"] == "planGone"
    assert not any(name.startswith("jax") for name in installed_in(prefix))


async def test_options_urls_and_paths_are_no_requirements(start: Start, make: Callable[..., Path]) -> None:
    make([])
    async with start() as client:
        for text in (
            "--find-links=elsewhere",
            "-rfile",
            "jax @ https://example.org/a.whl",
            "./jax",
            "jax\nflax",
        ):
            assert (await refused(client, requirements=[text])).data["reason"] == "badRequirement"


async def test_nothing_runs_before_trust(start: Start, folder: Path, tmp_path: Path) -> None:  # R4
    program = folder / ".venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/canary'\n")
    program.chmod(0o755)
    (folder / ".venv" / "pyvenv.cfg").write_text("version = 3.11.7\n")
    async with start(ASKING, trusted=False) as client:
        listed = await client.request("tvls/environment/list", {})
        assert (listed["interpreters"][0]["command"], listed["trusted"]) == ([str(program)], False)
        for method in ("tvls/environment/plan", "tvls/environment/probe"):
            error = await client.ask(method, {}).error()  # the question of trust is answered with nothing
            assert error.data["kind"] == "notTrusted"
    assert not (tmp_path / "canary").exists()


ANSWERS = {
    "externallyManaged": '{"distributions": {"pip": "26.0"}, "purelib": "/p", "writable": true, "managed": "Use apt."}',
    "readOnly": '{"distributions": {"pip": "26.0"}, "purelib": "/p", "writable": false}',
    "noInstaller": '{"distributions": {"pip": "21.0"}, "purelib": "/p", "writable": true}',
}


@pytest.mark.parametrize("reason", ANSWERS)
async def test_where_nothing_may_be_installed_says_so(
    start: Start, make: Callable[..., Path], folder: Path, reason: str
) -> None:  # R2
    python = make([]) / "bin" / "python"
    wrapper = folder / "wrapper"
    answer = f'case "$*" in *installation) echo \'{ANSWERS[reason]}\';; *) exec "$@";; esac'
    wrapper.write_text(f"#!/bin/sh\n{answer}\n")
    wrapper.chmod(0o755)
    async with start(PATH="/usr/bin:/bin") as client:
        error = await refused(client, command=[str(wrapper), str(python)], requirements=["jax"])
    assert error.data["reason"] == reason
    if reason == "externallyManaged":
        assert "Use apt." in error.message


async def test_no_network_and_no_match_are_told_apart(start: Start, make: Callable[..., Path]) -> None:
    make([])
    async with start() as client:
        assert (await refused(client, requirements=["no-such-package"])).data["reason"] == "noMatch"
    unreachable = {"PIP_NO_INDEX": "0", "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1"}
    async with start(**unreachable) as client:
        error = await refused(client, requirements=["no-such-package"])
        assert error.data["reason"] == "noNetwork"
        assert error.data["stderr"]


async def test_cancelling_says_what_there_is(start: Start, make: Callable[..., Path]) -> None:  # R2
    prefix = make([])
    (site,) = prefix.glob("lib/python*/site-packages")
    # Python reads this before pip starts: the installation hangs, planning does not.
    (site / "slow.pth").write_text("import sys, time; 'pinned.txt' in sys.orig_argv and time.sleep(100)\n")
    async with start() as client:
        plan = await client.ask("tvls/environment/plan", {"requirements": ["jax"]}).result(120)
        installing = client.ask("tvls/environment/install", {"planId": plan["planId"], "workDoneToken": "w"})
        await client.wait_for("window/logMessage")
        busy = await refused(client, requirements=["jax"])
        assert busy.data["reason"] == "busy"
        installing.cancel()
        error = await installing.error()
        assert error.code == -32800
        shown = await client.wait_for("window/showMessage")
        assert "cancelled" in shown["params"]["message"]
        assert "as it was before" in shown["params"]["message"]
        status = await client.request("tvls/environment/list", {})
        assert status["interpreters"]
    assert not any(name.startswith("jax") for name in installed_in(prefix))


@pytest.mark.parametrize("approved", [True, False])
async def test_an_editor_without_a_plugin_approves(
    start: Start, make: Callable[..., Path], folder: Path, approved: bool
) -> None:  # R2, R28
    prefix = make(["torch", "numpy==2.1.0"])
    before = installed_in(prefix)
    documents: list[str] = []
    questions: list[str] = []

    def show(params: dict[str, Any]) -> dict[str, bool]:
        documents.append(Path(params["uri"].removeprefix("file://")).read_text())
        return {"success": True}

    def answer(params: dict[str, Any]) -> dict[str, str]:
        questions.append(params["message"])
        titles = [action["title"] for action in params["actions"]]
        wanted = "Show what would be installed" if len(questions) == 1 else "Approve" if approved else "Not now"
        assert wanted in titles
        return {"title": wanted}

    capabilities = {**ASKING, "textDocument": {"codeAction": {"codeActionLiteralSupport": LITERALS}}}
    async with start(capabilities) as client:
        client.answers["window/showDocument"] = show
        client.answers["window/showMessageRequest"] = answer
        uri = client.open(folder / "model.py")
        inputs = {"args": [{"kind": "tensor", "shape": [2], "dtype": "float32"}]}
        argument = {"uri": uri, "name": "net", "setup": {"inputs": inputs}}
        with pytest.raises(ResponseError) as raised:
            await client.execute("tvls.server.openGraph", argument)
        data = raised.value.data
        assert (data["kind"], data["requirements"], data["folder"]) == (
            "environmentInvalid",
            ["jax>=0.6.1"],
            folder.as_uri(),
        )
        await client.wait_for(
            "window/showMessageRequest", lambda params: params["actions"][0]["title"] == "Approve", seconds=120
        )
        if approved:
            await client.wait_for(
                "window/showMessage", lambda params: params["message"].startswith("Installed jax"), seconds=120
            )
        assert "has no jax" in questions[0]
        assert "jax 0.10.2" in questions[1]
        assert "torch 2.13.0+cpu" in questions[1]
        assert "Nothing has been changed yet" in documents[0]
        actions = await client.request(
            "textDocument/codeAction",
            {"textDocument": {"uri": uri}, "range": _line(3), "context": {"diagnostics": []}},
        )
        offered = [action for action in actions if action["kind"] == "source.tvls.installLibraries"]
        assert bool(offered) is not approved
        if offered:
            assert offered[0]["command"]["arguments"][0]["requirements"] == ["jax>=0.6.1"]
    assert (installed_in(prefix) == before) is not approved


async def test_the_button_of_the_progress_ends_an_offered_installation(
    start: Start, make: Callable[..., Path], folder: Path
) -> None:  # R2, R28
    prefix = make([])
    (site,) = prefix.glob("lib/python*/site-packages")
    (site / "slow.pth").write_text("import sys, time; 'pinned.txt' in sys.orig_argv and time.sleep(100)\n")
    async with start({"window": {**ASKING["window"], "workDoneProgress": True}}) as client:
        client.answers["window/showMessageRequest"] = lambda params: params["actions"][0]  # yes to everything
        client.answers["window/workDoneProgress/create"] = None
        uri = client.open(folder / "model.py")
        inputs = {"args": [{"kind": "tensor", "shape": [2], "dtype": "float32"}]}
        with pytest.raises(ResponseError):
            await client.execute("tvls.server.openGraph", {"uri": uri, "name": "net", "setup": {"inputs": inputs}})
        begun = await client.wait_for(
            "$/progress", lambda params: params["value"].get("title") == "Install", seconds=60
        )
        await client.wait_for("window/logMessage", lambda params: "pinned.txt" in params["message"], seconds=60)
        client.notify("window/workDoneProgress/cancel", {"token": begun["params"]["token"]})
        await client.wait_for("window/showMessage", lambda params: "as it was before" in params["message"])
        await client.wait_for(
            "$/progress", lambda params: params == {"token": begun["params"]["token"], "value": {"kind": "end"}}
        )
    assert installed_in(prefix) == set()


async def test_an_editor_that_cannot_ask_is_told_how(start: Start, make: Callable[..., Path]) -> None:  # R28
    prefix = make([])
    async with start() as client:
        plan = await client.ask(
            "workspace/executeCommand",
            {"command": "tvls.server.installLibraries", "arguments": [{"requirements": ["filelock"]}]},
        ).result(120)
        shown = await client.wait_for("window/showMessage")
        assert plan["planId"] in shown["params"]["message"]
        assert installed_in(prefix) == set()
        await client.ask(
            "workspace/executeCommand",
            {"command": "tvls.server.installLibraries", "arguments": [{"planId": plan["planId"]}]},
        ).result(120)
    assert installed_in(prefix) == {"filelock-3.0"}


async def test_broken_libraries_get_a_verdict(start: Start, make: Callable[..., Path], tmp_path: Path) -> None:  # R2
    index = tmp_path / "broken"
    make_wheel(index, "jax", "0.10.2", body="import ctypes\nctypes.string_at(0)\n")
    make_wheel(index, "torch", "2.9.0", body="raise OSError('libcudart.so.12: cannot open shared object file')\n")
    make_wheel(index, "flax", "0.8.0")
    prefix = make([str(wheel) for wheel in index.iterdir() if "flax" not in wheel.name])
    assert prefix
    async with start() as client:
        info = await client.ask("tvls/environment/probe", {}).result(120)
    libraries = {library["name"]: library for library in info["libraries"]}
    assert [libraries[name]["state"] for name in ("jax", "torch", "flax", "numpy")] == [
        "broken",
        "broken",
        "missing",
        "missing",
    ]
    assert "ends Python (signal 11)" in libraries["jax"]["message"]
    assert "libcudart.so.12" in libraries["torch"]["message"]
    assert set(info["unusable"]) >= {"jax.function", "flax.linen", "flax.nnx", "torch.module"}
    assert info["requirements"] == ["flax>=0.10.6"]
    assert "no library" in info["verdict"]


def _line(number: int) -> dict[str, Any]:
    position = {"line": number, "character": 0}
    return {"start": position, "end": position}


@pytest.fixture
def real_jax(folder: Path, models_python: str) -> None:
    """`.venv` of the folder with a real JAX, without the minutes that installing one takes."""
    prefix = folder / ".venv"
    subprocess.run([models_python, "-m", "venv", str(prefix)], check=True)
    (site,) = prefix.glob("lib/python*/site-packages")
    (shared,) = Path(models_python).parent.parent.glob("lib/python*/site-packages")
    (site / "shared.pth").write_text(f"{shared}\n")


@pytest.mark.usefixtures("real_jax")
async def test_after_an_installation_traces_start_anew(start: Start, folder: Path, index: Path) -> None:  # R2, R27, R31
    make_wheel(index, "standin", "1.0")
    async with start() as client:
        inputs = {"args": [{"kind": "tensor", "shape": [3], "dtype": "float32"}]}
        params = {"target": {"uri": (folder / "model.py").as_uri(), "name": "net"}, "setup": {"inputs": inputs}}
        capture = (await client.ask("tvls/graph/open", params).result(120))["capture"]
        (before,) = (await client.request("tvls/server/status", {}))["workers"]
        assert before["state"] == "warm"
        plan = await client.ask("tvls/environment/plan", {"requirements": ["standin"]}).result(120)
        assert plan["held"]["jaxlib"] == capture["versions"]["jaxlib"]
        await client.ask("tvls/environment/install", {"planId": plan["planId"]}).result(120)
        assert (await client.request("tvls/server/status", {})).get("workers", []) == []
        info = await client.request("tvls/graph/info", {"captureId": capture["captureId"]})
        assert info["stale"]["interpreter"] is True
        again = await client.ask("tvls/graph/open", params).result(120)
        assert (again["capture"]["freshness"], again.get("reused", False)) == ("fresh", False)
        (after,) = (await client.request("tvls/server/status", {}))["workers"]
        assert after["state"] == "warm"
        assert after["pid"] != before["pid"]


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({"numpy": "1.0"}, "as it was before: nothing was installed"),
        ({"numpy": "1.0", "jax": "0.10.2"}, "1 of 2 packages of the plan are installed in /venv (jax 0.10.2)"),
        ({"jax": "0.10.2"}, "missing now: numpy 1.0. Plan again"),
    ],
)
def test_what_an_interrupted_installation_left_is_told(after: dict[str, str], said: str) -> None:  # R2
    changes = [te.PackageChange(name=name, version="0.10.2", change="install") for name in ("jax", "jaxlib")]
    environment = environment_with({})
    plan = Plan(
        id="p",
        environment=msgspec.structs.replace(environment, prefix="/venv"),
        installer=Installer("pip", "26.0", ("python", "-m", "pip"), None),
        requirements=["jax"],
        changes=changes,
        hashes={},
        held={},
        before={"numpy": "1.0"},
        notes=[],
    )
    assert said in describe_difference(plan, after)
