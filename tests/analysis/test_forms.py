"""Every form in which models are written, through the real analysis process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvls.analysis.client import Analysis
from tvls.analysis.types import FoundTarget

from .workspace_files import FORMS, Expected, expected, write


def seen(targets: list[FoundTarget]) -> Expected:
    return {(t.path, t.line, t.kind, t.name) for t in targets}


@pytest.mark.parametrize("name", sorted(p.stem for p in FORMS.glob("*.txt")))
async def test_forms(name: str, analysis: Analysis, tmp_path: Path) -> None:  # R6, R7
    files = write((FORMS / f"{name}.txt").read_text(encoding="utf-8"), tmp_path)
    wanted: Expected = set().union(*(expected(path) for path in files))
    assert len(wanted) >= 3
    single: Expected = set()
    for path in files:
        answer = await analysis.targets(path, roots=[tmp_path])
        assert answer.parsed, (path, answer.error)
        single |= seen(answer.targets)
    assert sorted(single - wanted) == []
    assert sorted(wanted - single) == []
    assert seen(await analysis.index([tmp_path])) == wanted


async def test_index_of_a_fresh_process_agrees_with_single_files(tmp_path: Path, analysis: Analysis) -> None:
    files = write((FORMS / "files.txt").read_text(encoding="utf-8"), tmp_path)
    wanted: Expected = set().union(*(expected(path) for path in files))
    assert seen(await analysis.index([tmp_path])) == wanted
