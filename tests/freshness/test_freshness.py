"""Freshness by content: real files, changed in the ways that editors, tools and people change them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tvls.freshness import FileDigests, Snapshot, check, unsaved
from tvls.protocol.types import Stale

OLD = 1_600_000_000


def sha(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Traced:
    """A workspace, and a capture of it that was just made."""

    def __init__(self, folder: Path, files: Mapping[str, bytes]) -> None:
        self.folder = folder
        self.digests = FileDigests()
        for name, data in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        self.snapshot = Snapshot({name: sha(data) for name, data in files.items()}, "p", "e", {"jax": "1", "flax": "2"})

    def check(self, buffers: Mapping[Path, str] | None = None) -> Stale | None:
        return check(self.snapshot, self.folder, buffers or {}, "p", "e", {"jax": "1", "flax": "2"}, self.digests)

    def files(self, buffers: Mapping[Path, str] | None = None) -> list[str]:
        stale = self.check(buffers)
        return [] if stale is None else stale.files


@pytest.fixture
def traced(tmp_path: Path) -> Traced:
    return Traced(tmp_path, {"model.py": b"x = 1\ny = 2\n", "pkg/layers.py": b"z = 3\n", "pkg/__init__.py": b""})


@pytest.fixture
def long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every change so far counts as ten seconds old."""
    real = time.time_ns
    monkeypatch.setattr("time.time_ns", lambda: real() + 10_000_000_000)


def test_fresh_until_something_changes(traced: Traced) -> None:  # R27
    assert traced.check() is None
    (traced.folder / "unrelated.py").write_text("x")
    assert traced.check() is None


def test_an_edit_and_its_undoing(traced: Traced) -> None:  # R27
    path = traced.folder / "model.py"
    for _ in range(20):  # faster than time stamps tell apart, and of the same length
        path.write_bytes(b"x = 9\ny = 2\n")
        assert traced.check() == Stale(files=["model.py"])
        path.write_bytes(b"x = 1\ny = 2\n")
        assert traced.check() is None


def test_edits_within_one_coarse_time_stamp(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:  # R27
    """Some file systems count time in steps of two seconds, in which a file can change more than once."""

    def coarse(status: os.stat_result) -> SimpleNamespace:
        fields = {name: getattr(status, name) for name in ("st_mode", "st_size", "st_ino", "st_dev")}
        step = 2_000_000_000
        return SimpleNamespace(
            st_mtime_ns=status.st_mtime_ns // step * step, st_ctime_ns=status.st_ctime_ns // step * step, **fields
        )

    stat, fstat = os.stat, os.fstat
    answers: list[list[str]] = []
    with monkeypatch.context() as patch:
        patch.setattr("os.stat", lambda *given, **more: coarse(stat(*given, **more)))
        patch.setattr("os.fstat", lambda handle: coarse(fstat(handle)))
        for data in (b"x = 9\ny = 2\n", b"x = 1\ny = 2\n") * 3:
            with (traced.folder / "model.py").open("r+b") as file:
                file.write(data)
            answers.append(traced.files())
    assert answers == [["model.py"], []] * 3


def test_an_edit_that_keeps_size_and_time(traced: Traced, long_ago: None) -> None:  # R27
    path = traced.folder / "model.py"
    os.utime(path, (OLD, OLD))
    assert traced.check() is None
    with path.open("r+b") as file:  # the same inode
        file.write(b"x = 9")
    os.utime(path, (OLD, OLD))
    assert traced.files() == ["model.py"]


def test_a_touched_file_is_still_fresh(traced: Traced) -> None:  # R27
    path = traced.folder / "model.py"
    assert traced.check() is None
    for when in (OLD, time.time() + 10_000, time.time()):
        os.utime(path, (when, when))
        assert traced.check() is None


def test_settled_files_are_not_read_again(traced: Traced, long_ago: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert traced.check() is None
    reads: list[str] = []
    opened = os.open
    monkeypatch.setattr("os.open", lambda name, *rest: reads.append(str(name)) or opened(name, *rest))
    assert traced.check() is None
    assert reads == []
    (traced.folder / "model.py").touch()
    assert traced.check() is None
    assert reads == [str(traced.folder / "model.py")]


def test_a_file_that_vanishes_and_comes_back(traced: Traced) -> None:  # R27
    path, away = traced.folder / "model.py", traced.folder / "away"
    path.rename(away)
    assert traced.files() == ["model.py"]
    path.mkdir()
    assert traced.files() == ["model.py"]
    path.rmdir()
    away.rename(path)
    assert traced.check() is None
    shutil.move(traced.folder / "pkg", traced.folder / "other")
    assert traced.files() == ["pkg/layers.py", "pkg/__init__.py"]


def test_files_that_are_no_files(traced: Traced) -> None:
    path = traced.folder / "model.py"
    path.unlink()
    os.mkfifo(path)  # reading it would wait for ever
    assert traced.files() == ["model.py"]
    path.unlink()
    path.symlink_to(path)
    assert traced.files() == ["model.py"]
    path.unlink()
    target = traced.folder / "target"
    target.write_bytes(b"x = 1\ny = 2\n")
    path.symlink_to(target)
    assert traced.check() is None
    target.write_bytes(b"x = 1\ny = 3\n")
    assert traced.files() == ["model.py"]
    assert traced.digests.digest(Path("/a\0b")) is None


def test_saving_by_replacing_the_file(traced: Traced) -> None:  # R27
    path = traced.folder / "model.py"
    for data, stale in ((b"x = 9\ny = 2\n", ["model.py"]), (b"x = 1\ny = 2\n", [])):
        new = traced.folder / ".model.py.swp"
        new.write_bytes(data)
        new.replace(path)
        assert traced.files() == stale


def test_git_checkout_there_and_back(traced: Traced) -> None:  # R27
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *arguments], cwd=traced.folder, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    git("checkout", "-q", "-b", "other")
    (traced.folder / "model.py").write_bytes(b"x = 1\ny = 3\n")
    git("rm", "-q", "pkg/layers.py")
    git("commit", "-q", "-a", "-m", "two")
    assert traced.files() == ["model.py", "pkg/layers.py"]
    git("checkout", "-q", "main")
    assert traced.check() is None


def test_open_buffers_count_before_the_disk(traced: Traced) -> None:  # R27
    path = traced.folder / "model.py"
    text = "x = 1\ny = 2\n"
    assert traced.check({path: text}) is None
    assert traced.files({path: text + "#"}) == ["model.py"]
    assert traced.check({path: text}) is None  # undone
    assert traced.check() is None  # closed without saving
    # Changed on disk while the editor still holds what was traced: what the user sees is what was traced.
    path.write_bytes(b"x = 5\n")
    assert traced.check({path: text}) is None
    assert traced.files({path: "x = 5\n"}) == ["model.py"]
    path.unlink()
    assert traced.check({path: text}) is None
    assert traced.files({path: ""}) == ["model.py"]
    assert traced.check({path: text, traced.folder / "other.py": "anything"}) is None


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"x = 1\r\ny = 2\r\n", "x = 1\r\ny = 2\r\n"),
        (b"x = 1\r\ny = 2\r\n", "x = 1\ny = 2\n"),  # editors that keep line ends apart from the text
        (b"x = 1\ry = 2\r", "x = 1\ry = 2\r"),
        (b"x = 1\r\ny = 2\n", "x = 1\r\ny = 2\n"),  # mixed
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        (b"\xef\xbb\xbfx = 1\n", "\ufeffx = 1\n"),
        (b"\xef\xbb\xbfx = 1\r\n", "x = 1\n"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "# -*- coding: latin-1 -*-\nx = 'é'\n"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "# -*- coding: latin-1 -*-\nx = '\ufffd'\n"),  # opened as UTF-8
        (b"x = '\xe9'\n", "x = '\ufffd'\n"),
        (b"# coding: rot13\nx = 1\n", "# coding: rot13\nx = 1\n"),
        (b"# coding: idna\nx = '\xe9'\n", "# coding: idna\nx = '\ufffd'\n"),
        (b"# coding: utf-16\nx = 1\n", "# coding: utf-16\nx = 1\n"),
        (b"# coding: no-such\nx = 1\n", "# coding: no-such\nx = 1\n"),
        ("x = '𝔘\u2028\x0c'\n".encode(), "x = '𝔘\u2028\x0c'\n"),  # noqa: RUF001
        (b"x = 1", "x = 1"),
        (b"", ""),
    ],
)
def test_a_buffer_equals_its_file_however_the_file_is_encoded(
    data: bytes, text: str, tmp_path: Path
) -> None:  # R5, R27
    traced = Traced(tmp_path, {"model.py": data})
    path = tmp_path / "model.py"
    assert traced.check({path: text}) is None
    assert unsaved({path: text}, [path], traced.digests) == []
    for other in (text + " ", text + "#\n", "\n" + text):
        assert traced.files({path: other}) == ["model.py"]
        assert unsaved({path: other}, [path], traced.digests) == [path]


def test_an_unsaved_undo_after_a_save_is_fresh_and_unsaved(tmp_path: Path) -> None:  # R5, R27
    for data, text in (
        (b"x = 1\r\n", "x = 1\n"),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        (b"# coding: latin-1\nx = '\xe9'\n", "# coding: latin-1\nx = 'é'\n"),
    ):
        traced = Traced(tmp_path, {"model.py": data})
        path = tmp_path / "model.py"
        path.write_bytes(data + b"y = 2")
        assert traced.files({path: text + "y = 2"}) == ["model.py"]
        assert traced.check({path: text}) is None
        assert unsaved({path: text}, [path], traced.digests) == [path]


def test_unsaved_lists_the_buffers_that_differ(traced: Traced) -> None:  # R5
    model, layers, gone = traced.folder / "model.py", traced.folder / "pkg/layers.py", traced.folder / "new.py"
    buffers = {model: "x = 1\ny = 2\n", layers: "z = 4\n", gone: ""}
    assert unsaved(buffers, [layers, model, gone, layers], traced.digests) == [layers, gone]
    layers.write_text("z = 4\n")
    assert unsaved(buffers, [layers, model], traced.digests) == []
    assert unsaved({}, [layers, model], traced.digests) == []


def test_a_lone_surrogate_is_never_what_is_on_disk(traced: Traced) -> None:
    path = traced.folder / "model.py"
    path.write_bytes(b"?")
    assert unsaved({path: "\ud800"}, [path], traced.digests) == [path]


def test_profile_interpreter_and_libraries(traced: Traced) -> None:  # R27
    def differs(profile: str | None = "p", environment: str | None = "e", **libraries: str) -> Stale | None:
        known = {"jax": "1", "flax": "2"} | libraries
        return check(traced.snapshot, traced.folder, {}, profile, environment, known, traced.digests)

    assert differs(numpy="3") is None  # was not there when it was traced
    assert differs(profile="q") == Stale(profile=True)
    assert differs(profile=None) == Stale(profile=True)
    assert differs(environment="f") == Stale(interpreter=True)
    assert differs(environment=None) == Stale(interpreter=True)
    assert differs(jax="1.1") == Stale(libraries=["jax"])
    removed = check(traced.snapshot, traced.folder, {}, "p", "e", {"jax": "1"}, traced.digests)
    assert removed == Stale(libraries=["flax"])
    assert check(traced.snapshot, traced.folder, {}, "p", "e", None, traced.digests) is None


def test_texts_follow_the_file(traced: Traced) -> None:
    path = traced.folder / "model.py"
    assert traced.digests.text(path) == "x = 1\ny = 2\n"
    path.write_bytes(b"\xef\xbb\xbf# coding: utf-8\r\nx = '\xc3\xa9'\r\n")
    assert traced.digests.text(path) == "# coding: utf-8\nx = 'é'\n"
    path.unlink()
    assert traced.digests.text_or_none(path) is None
    with pytest.raises(FileNotFoundError):
        traced.digests.text(path)


CONTENTS = st.sampled_from([b"", b"x = 1\n", b"x = 2\n", b"x = 1\r\n", b"\xef\xbb\xbfx = 1\n", b"x = 1"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "replace", "touch", "remove", "old"]), st.sampled_from("ab"), CONTENTS),
    max_size=12,
)


@settings(deadline=None, max_examples=40)
@given(CONTENTS, CONTENTS, STEPS)
def test_it_is_fresh_exactly_while_the_content_is_what_was_traced(
    tmp_path_factory: pytest.TempPathFactory, a: bytes, b: bytes, steps: list[tuple[str, str, bytes]]
) -> None:  # R27
    traced = Traced(tmp_path_factory.mktemp("w"), {"a": a, "b": b})
    wanted = {"a": a, "b": b}
    for action, name, data in steps:
        path = traced.folder / name
        match action:
            case "write":
                path.write_bytes(data)
            case "replace":
                path.with_suffix(".new").write_bytes(data)
                path.with_suffix(".new").replace(path)
            case "remove":
                path.unlink(missing_ok=True)
            case "old" if path.exists():
                os.utime(path, (OLD, OLD))
            case "touch" if path.exists():
                path.touch()
            case _:
                pass
        now = {n: (traced.folder / n).read_bytes() if (traced.folder / n).exists() else None for n in wanted}
        assert traced.files() == [n for n in wanted if now[n] != wanted[n]]


def test_a_check_costs_little_more_than_looking_at_the_files(tmp_path: Path, long_ago: None) -> None:
    traced = Traced(tmp_path, {f"p{n % 7}/m{n}.py": b"x = 1\n" * n for n in range(200)})
    buffers = {tmp_path / f"p{n % 7}/m{n}.py": "x = 1\n" * n for n in range(0, 200, 10)}
    assert traced.check(buffers) is None
    names = [str(tmp_path / name) for name in traced.snapshot.sources]

    def best(run: object) -> float:
        assert callable(run)
        times: list[float] = []
        for _ in range(60):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        return min(times)

    floor = best(lambda: [os.stat(name) for name in names])
    assert best(lambda: traced.check(buffers)) < 3 * floor
