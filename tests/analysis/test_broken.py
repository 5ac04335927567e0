"""Text that is no valid Python, or hardly."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tvls.analysis.client import Analysis
from tvls.analysis.types import FileTargets

GOOD = """from flax import linen as nn
import jax


class First(nn.Module):
    width: int = 1


@jax.jit
def second(
    x,
):
    return x


class Third(nn.Module):
    pass
"""


def lines(answer: FileTargets) -> dict[str, int]:
    return {t.name: t.line for t in answer.targets}


async def test_last_good_targets_move_with_the_edits(analysis: Analysis, tmp_path: Path) -> None:  # R8
    path = tmp_path / "m.py"
    assert lines(await analysis.targets(path, GOOD)) == {"First": 5, "second": 10, "Third": 16}

    broken = GOOD.replace("    width: int = 1\n", "    width: int = (\n    # one\n    # two\n")
    answer = await analysis.targets(path, broken)
    assert not answer.parsed
    assert answer.error is not None
    assert answer.error.line > 0
    assert lines(answer) == {"First": 5, "second": 12, "Third": 18}

    # further edits while it is broken: each is measured from the last good text
    answer = await analysis.targets(path, "# top\n" + broken.replace("class Third(", "class  Third(("))
    assert lines(answer) == {"First": 6, "second": 13, "Third": 19}
    third = answer.targets[-1]
    assert (third.column, third.end_column) == (7, 12)

    # a definition that is gone has no lens, though nothing parses
    answer = await analysis.targets(path, broken.replace("class Third(nn.Module):\n    pass\n", ""))
    assert lines(answer) == {"First": 5, "second": 12}

    answer = await analysis.targets(path, GOOD.replace("Third", "Fourth"))
    assert answer.parsed
    assert lines(answer) == {"First": 5, "second": 10, "Fourth": 16}


async def test_a_renamed_header_in_a_broken_text_is_no_target(analysis: Analysis, tmp_path: Path) -> None:  # R8
    path = tmp_path / "m.py"
    await analysis.targets(path, GOOD)
    answer = await analysis.targets(path, GOOD.replace("class Third(nn.Module):", "class Other(nn.Module:"))
    assert lines(answer) == {"First": 5, "second": 10}


async def test_a_buffer_broken_from_the_start_uses_the_saved_file(analysis: Analysis, tmp_path: Path) -> None:  # R8
    path = tmp_path / "m.py"
    path.write_text(GOOD)
    answer = await analysis.targets(path, "(\n" + GOOD)
    assert not answer.parsed
    assert lines(answer) == {"First": 6, "second": 11, "Third": 17}


async def test_other_files_see_the_last_good_text_of_a_broken_one(analysis: Analysis, tmp_path: Path) -> None:  # R8
    base, user = tmp_path / "base.py", tmp_path / "user.py"
    user.write_text("from base import First\nclass Mine(First): ...\n")
    await analysis.targets(base, GOOD, roots=[tmp_path])
    await analysis.targets(base, GOOD + "(", roots=[tmp_path])
    assert lines(await analysis.targets(user, roots=[tmp_path])) == {"Mine": 2}


NET = "from flax import linen as nn\nclass Net(nn.Module): ...\n"

ODD: dict[str, tuple[bytes, bool, dict[str, int]]] = {
    "empty": (b"", True, {}),
    "bom": (b"\xef\xbb\xbf" + NET.encode(), True, {"Net": 2}),
    "latin": ("# coding: latin-1\n# é\n".encode("latin-1") + NET.encode(), True, {"Net": 4}),
    "lying": (b"# coding: utf-8\n# \xe9\n" + NET.encode(), False, {}),
    "unknown coding": (b"# coding: klingon\n" + NET.encode(), False, {}),
    "utf-16": (NET.encode("utf-16"), False, {}),
    "crlf": (NET.replace("\n", "\r\n").encode(), True, {"Net": 2}),
    "cr": (NET.replace("\n", "\r").encode(), True, {"Net": 2}),
    "form feed": (b"\f" + NET.encode().replace(b"\n", b"\n\f\n"), True, {"Net": 3}),
    "line separator": (("x = '\u2028\x85\x1c'\n" + NET).encode(), True, {"Net": 3}),
    "no newline": (NET.strip().encode(), True, {"Net": 2}),
    "tabs": (NET.replace(" ...", "\n\tx: int\n\ty: int").encode(), True, {"Net": 2}),
    "null": (NET.encode() + b"\0", False, {}),
    "only comment": (b"# jax", True, {}),
    "backslash": (b"x = 1; \\\ny = 2\n" + NET.encode(), True, {"Net": 4}),
    "deep brackets": (NET.encode() + b"x = " + b"(" * 5000 + b")" * 5000, False, {}),
    "deep sum": (NET.encode() + b"x = " + b"+".join([b"1"] * 3000), True, {"Net": 2}),
    "deep attribute": (NET.encode() + b"x = a" + b".b" * 3000, True, {"Net": 2}),
    "python 2": (b"print 'jax'\n", False, {}),
}


@pytest.mark.parametrize("name", ODD)
async def test_odd_files(name: str, analysis: Analysis, tmp_path: Path) -> None:
    data, parsed, wanted = ODD[name]
    path = tmp_path / "m.py"
    path.write_bytes(data)
    pid = analysis.pid
    answer = await analysis.targets(path)
    assert (answer.parsed, lines(answer)) == (parsed, wanted)
    assert (answer.error is None) == parsed
    pid = analysis.pid
    (tmp_path / "ok.py").write_text(NET)
    assert lines(await analysis.targets(tmp_path / "ok.py")) == {"Net": 2}
    assert analysis.pid == pid


async def test_a_very_long_file(analysis: Analysis, tmp_path: Path) -> None:
    text = NET + "x = {\n" + "    'key': [1, 2, 3],\n" * 100_000 + "}\nclass Last(Net): ...\n"
    answer = await analysis.targets(tmp_path / "m.py", text)
    assert lines(answer) == {"Net": 2, "Last": 100_005}


@pytest.mark.parametrize(
    "line",
    [
        "type Pair[T] = tuple[T, T]",
        "def generic[T: (int, str)](x: T) -> T: return x",
        "try: pass\nexcept ValueError, KeyError: pass",
        "s = f'{f'{1}'}'",
        "s = f'{'\\n'}'",
        "s = f'{[\n1]}'",
        "s = t'{1}'",
    ],
)
async def test_syntax_newer_than_the_interpreter(line: str, analysis: Analysis, tmp_path: Path) -> None:
    text = f"from flax import linen as nn\n{line}\nclass Größe[T](nn.Module): x: T  # é\nclass Net(Größe): ...\n"
    answer = await analysis.targets(tmp_path / "m.py", text)
    assert answer.parsed, (sys.version_info, answer.error)
    start = 3 + line.count("\n")
    assert lines(answer) == {"Größe": start, "Net": start + 1}
    assert [p.annotation for p in answer.targets[0].init_parameters] == ["T"]
    assert (answer.targets[0].column, answer.targets[0].end_column) == (6, 13)


async def test_a_type_statement_is_an_alias(analysis: Analysis, tmp_path: Path) -> None:
    text = "from flax import linen as nn\ntype Base = nn.Module\nclass Net(Base): ...\n"
    assert lines(await analysis.targets(tmp_path / "m.py", text)) == {"Net": 3}
