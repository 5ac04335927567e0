"""Grants of trust: what they cover, where they are kept, and what happens to a store that is not as it should be."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tvls.protocol.errors import TvlsError
from tvls.trust import TrustStore


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state" / "tvls"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "code" / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "model.py").write_text("x = 1\n")
    return folder


def test_nothing_is_trusted_at_first_and_asking_writes_nothing(state: Path, project: Path) -> None:  # R4
    store = TrustStore(state)
    assert not store.is_trusted(project)
    assert store.list() == []
    assert not state.exists()


def test_a_grant_covers_the_folder_and_what_is_in_it(state: Path, project: Path) -> None:  # R4
    store = TrustStore(state)
    grant = store.grant(project)
    assert (grant.folder, grant.remembered, grant.note) == (project, True, None)
    for path in (
        project,
        project / "src",
        project / "src" / "model.py",
        project / "not" / "there",
        project / "src" / "..",
    ):
        assert store.is_trusted(path)
    sibling = project.with_name("project-evil")
    sibling.mkdir()
    for path in (project.parent, sibling, project / "..", project / ".." / "project-evil", Path("/")):
        assert not store.is_trusted(path)


def test_grants_last_and_lie_outside_the_workspace(state: Path, project: Path) -> None:  # R4
    before = sorted(project.rglob("*"))
    TrustStore(state).grant(project)
    assert sorted(project.rglob("*")) == before
    assert TrustStore(state).is_trusted(project)
    assert stat.S_IMODE((state / "trust.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) & 0o077 == 0


def test_links_neither_carry_nor_widen_trust(state: Path, project: Path, tmp_path: Path) -> None:  # R4
    evil = tmp_path / "evil"
    evil.mkdir()
    (project / "vendored").symlink_to(evil)  # leads out
    (evil / "inside").symlink_to(project)  # leads in, to what is trusted
    store = TrustStore(state)
    store.grant(project)
    assert not store.is_trusted(project / "vendored")
    assert not store.is_trusted(project / "vendored" / "model.py")
    assert not store.is_trusted(evil)
    assert store.is_trusted(evil / "inside" / "src")
    loop = project / "loop"
    loop.symlink_to(loop)
    store.is_trusted(loop / "x")  # an answer, whichever, and no exception


def test_a_grant_through_a_link_is_for_the_real_folder(state: Path, project: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(project)
    store = TrustStore(state)
    assert store.grant(link).folder == project
    other = tmp_path / "other"
    other.mkdir()
    link.unlink()
    link.symlink_to(other)  # the name now means something that nobody trusted
    assert not store.is_trusted(link)
    assert store.is_trusted(project)


def test_a_folder_replaced_by_a_link_loses_its_trust(state: Path, project: Path, tmp_path: Path) -> None:
    store = TrustStore(state)
    store.grant(project)
    evil = tmp_path / "evil"
    evil.mkdir()
    project.rename(project.with_name("moved"))
    project.symlink_to(evil)
    assert not store.is_trusted(project)


def test_session_grants_are_not_written(state: Path, project: Path) -> None:  # R4
    store = TrustStore(state)
    grant = store.grant(project, persist=False)
    assert not grant.remembered
    assert store.is_trusted(project / "src")
    assert not TrustStore(state).is_trusted(project)
    assert not state.exists()


def test_revoking_takes_back_every_grant_that_matters(state: Path, project: Path, tmp_path: Path) -> None:
    store = TrustStore(state)
    other = tmp_path / "other"
    other.mkdir()
    for folder in (project.parent, project, project / "src", other):
        store.grant(folder)
    store.grant(project, persist=False)
    withdrawn = store.revoke(project)
    assert withdrawn.folders == [project.parent, project, project / "src"]
    assert withdrawn.note is None
    for path in (project, project / "src", project.parent):
        assert not store.is_trusted(path)
        assert not TrustStore(state).is_trusted(path)
    assert [grant.folder for grant in store.list()] == [other]
    assert store.revoke(project).folders == []
    store.grant(project)
    assert store.is_trusted(project)


@pytest.mark.parametrize("wide", ["/", "~", "~/..", "{tmp}"])
def test_folders_that_hold_everything_are_not_trusted_for_good(
    wide: str, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home" / "me"
    temporary = tmp_path / "tmp"
    (home / "project").mkdir(parents=True)
    temporary.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    folder = Path(wide.format(tmp=temporary)).expanduser()
    store = TrustStore(state)
    with pytest.raises(TvlsError) as caught:
        store.grant(folder)
    assert caught.value.kind == "notTrusted"
    assert not store.is_trusted(home / "project")
    assert store.grant(home / "project").remembered
    # A client that made the decision itself may, until the daemon ends.
    assert store.grant(folder, persist=False).remembered is False
    # And a file that says so all the same is not believed.
    real = os.path.realpath(folder)
    (state / "trust.json").write_text(json.dumps({"version": 1, "folders": {real: {"granted": ""}}}))
    assert not TrustStore(state).is_trusted(home / "project" / "x")


def test_what_is_no_folder_cannot_be_trusted(state: Path, project: Path) -> None:
    store = TrustStore(state)
    for path in (project / "src" / "model.py", project / "gone"):
        for persist in (True, False):
            with pytest.raises(TvlsError, match="no folder"):
                store.grant(path, persist)
    assert not store.is_trusted(Path("/a\0b"))


def test_folders_with_unusual_names(state: Path, tmp_path: Path) -> None:
    store = TrustStore(state)
    for name in ("with space", 'quo"te', "größe", "line\nbreak", "..."):
        folder = tmp_path / name
        folder.mkdir()
        store.grant(folder)
        assert TrustStore(state).is_trusted(folder)
    raw = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    raw.mkdir()
    grant = store.grant(raw)  # JSON cannot hold this name
    assert not grant.remembered
    assert "UTF-8" in (grant.note or "")
    assert store.is_trusted(raw)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"version": 2, "folders": {}}',
        b'{"version": 1, "folders": {"PROJECT": 1}}',
        b'{"version": 1, "folders": ["PROJECT"]}',
    ],
)
def test_a_damaged_file_trusts_nothing_and_is_kept(content: bytes, state: Path, project: Path) -> None:
    state.mkdir(parents=True)
    content = content.replace(b"PROJECT", os.fsencode(project))
    (state / "trust.json").write_bytes(content)
    store = TrustStore(state)
    assert not store.is_trusted(project)
    assert len(store.problems) == 1
    assert "damaged" in store.problems[0]
    (kept,) = state.glob("trust.json.damaged-*")
    assert kept.read_bytes() == content
    store.grant(project)
    assert TrustStore(state).is_trusted(project)


def test_relative_folders_in_the_file_mean_nothing(state: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state.mkdir(parents=True)
    (state / "trust.json").write_text('{"version": 1, "folders": {".": {}, "": {}, "project": {}}}')
    monkeypatch.chdir(project)
    assert not TrustStore(state).is_trusted(Path("."))


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_change_is_not_believed(mode: int, state: Path, project: Path) -> None:
    TrustStore(state).grant(project)
    (state / "trust.json").chmod(mode)
    store = TrustStore(state)
    assert not store.is_trusted(project)
    assert "chmod 600" in store.problems[0]
    (state / "trust.json").chmod(0o600)
    assert store.is_trusted(project)


def test_a_state_directory_in_the_workspace_grants_nothing_lasting(project: Path) -> None:  # R4
    inside = project / ".state"
    store = TrustStore(inside)
    grant = store.grant(project)
    assert not grant.remembered
    assert "lies in the folder itself" in (grant.note or "")
    assert store.is_trusted(project)
    assert not inside.exists()
    # A workspace that brings its own grant is not believed either, nor through a link.
    inside.mkdir()
    folders = {str(project): {}, str(project.parent): {}}
    (inside / "trust.json").write_text(json.dumps({"version": 1, "folders": folders}))
    (inside / "trust.json").chmod(0o600)
    link = project.with_name("link")
    link.symlink_to(inside)
    for state_dir in (inside, link):
        assert not TrustStore(state_dir).is_trusted(project)


@pytest.mark.parametrize("obstacle", ["a file is in the way", "the file cannot be replaced"])
def test_a_state_directory_that_cannot_be_written(obstacle: str, state: Path, project: Path) -> None:
    state.parent.mkdir(parents=True)
    if obstacle == "a file is in the way":
        state.write_text("")
    else:
        (state / "trust.json").mkdir(parents=True)
        (state / "trust.json" / "x").touch()
    store = TrustStore(state)
    grant = store.grant(project)
    assert not grant.remembered
    assert "cannot be written" in (grant.note or "")
    assert store.is_trusted(project)
    assert not TrustStore(state).is_trusted(project)
    assert store.revoke(project).folders == [project]
    assert not store.is_trusted(project)


def test_withdrawing_holds_although_the_file_cannot_be_changed(state: Path, project: Path) -> None:
    TrustStore(state).grant(project)
    store = TrustStore(state)
    assert store.is_trusted(project)
    (state / "trust.lock").unlink()
    (state / "trust.lock").mkdir()  # not a file, so nothing can be locked and nothing is written
    withdrawal = store.revoke(project)
    assert withdrawal.folders == [project]
    assert "cannot be changed" in (withdrawal.note or "")
    assert not store.is_trusted(project)
    (state / "trust.lock").rmdir()
    assert store.grant(project).remembered
    assert store.is_trusted(project)


def test_daemons_see_each_other(state: Path, project: Path) -> None:
    one, two = TrustStore(state), TrustStore(state)
    assert not two.is_trusted(project)
    one.grant(project)
    assert two.is_trusted(project)
    two.revoke(project)
    assert not one.is_trusted(project)


def test_two_daemons_at_once_lose_no_grant(state: Path, tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from tvls.trust import TrustStore\n"
        "store = TrustStore(Path(sys.argv[1]))\n"
        "for name in sys.argv[2:]: assert store.grant(Path(name)).remembered\n"
    )
    groups = [[tmp_path / f"p{process}-{n}" for n in range(20)] for process in range(3)]
    for folder in (folder for group in groups for folder in group):
        folder.mkdir()
    running = [subprocess.Popen([sys.executable, "-c", script, str(state), *map(str, group)]) for group in groups]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    store = TrustStore(state)
    assert all(store.is_trusted(folder) for group in groups for folder in group)
    assert sorted(path.name for path in state.iterdir()) == ["trust.json", "trust.lock"]  # no leftovers


def test_threads_of_one_daemon(state: Path, tmp_path: Path) -> None:
    store = TrustStore(state)
    folders = [tmp_path / f"p{n}" for n in range(12)]
    for folder in folders:
        folder.mkdir()
    threads = [threading.Thread(target=store.grant, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [grant.folder for grant in store.list()] == sorted(folders)


def test_the_state_directory_of_the_user_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform != "linux":
        pytest.skip("other systems have their own places")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    folder = tmp_path / "project"
    folder.mkdir()
    TrustStore().grant(folder)
    assert (tmp_path / "xdg" / "tvls" / "trust.json").is_file()
