"""Documents and positions: the server's text stays the editor's text, in every encoding, whatever is in the file."""

from __future__ import annotations

import ast
import random
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lsprotocol import types as lsp

from tests.lsp.client import LspClient
from tvls.protocol import types as t
from tvls.server.documents import Documents, Text, decode_source
from tvls.server.positions import (
    Encoding,
    choose_encoding,
    from_byte_column,
    from_index,
    line_starts,
    to_byte_column,
    to_index,
)
from tvls.uris import is_file_uri, to_path, to_uri

ENCODINGS: list[Encoding] = ["utf-8", "utf-16", "utf-32"]
CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
ALPHABET = [
    "a",
    " ",
    "é",
    "日",
    "😀",
    "\U0001d4b3",
    "\n",
    "\r",
    "\r\n",
    "\f",
    "\v",
    "\x1c",
    "\x85",
    "\u2028",
    "\u2029",
    "\t",
]
TEXTS = st.lists(st.sampled_from(ALPHABET), max_size=30).map("".join)
ROOT = Path(__file__).parents[2]


# --- a model that counts in the units of the encoding and knows nothing of the server's code --------------------------


def model_lines(text: str) -> list[tuple[str, str]]:
    """Lines and their ends, character by character."""
    lines: list[tuple[str, str]] = []
    current, index = "", 0
    while index < len(text):
        end = "\r\n" if text.startswith("\r\n", index) else text[index] if text[index] in "\r\n" else ""
        if end:
            lines.append((current, end))
            current = ""
        else:
            current += text[index]
        index += len(end) or 1
    return [*lines, (current, "")]


def model_edit(text: str, change: dict[str, Any], encoding: Encoding) -> str:
    codec, width = CODECS[encoding]
    lines = model_lines(text)

    def offset(position: dict[str, int]) -> int:
        before = "".join(line + end for line, end in lines[: position["line"]]).encode(codec)
        if position["line"] >= len(lines):
            return len(before)
        units = min(position["character"] * width, len(lines[position["line"]][0].encode(codec)))
        return len(before) + units

    data = text.encode(codec)
    start, end = offset(change["range"]["start"]), offset(change["range"]["end"])
    return (data[:start] + change["text"].encode(codec) + data[end:]).decode(codec)


def position_in(text: str, choose: random.Random, encoding: Encoding) -> dict[str, int]:
    """A position that editors send: on a character of a line, or somewhat past its end, or past the last line."""
    codec, width = CODECS[encoding]
    lines = model_lines(text)
    number = choose.randint(0, len(lines))
    if number == len(lines):
        return {"line": number + choose.randint(0, 3), "character": choose.randint(0, 3)}
    line = lines[number][0]
    index = choose.randint(0, len(line))
    past = choose.choice([0, 0, 0, 5]) if index == len(line) else 0
    return {"line": number, "character": len(line[:index].encode(codec)) // width + past}


def random_change(text: str, choose: random.Random, encoding: Encoding) -> dict[str, Any]:
    ends = sorted((position_in(text, choose, encoding) for _ in range(2)), key=lambda p: (p["line"], p["character"]))
    inserted = "".join(choose.choice(ALPHABET) for _ in range(choose.randint(0, 5)))
    return {"range": {"start": ends[0], "end": ends[1]}, "text": inserted}


def to_lsp(change: dict[str, Any]) -> lsp.TextDocumentContentChangePartial:
    ends = [lsp.Position(**change["range"][end]) for end in ("start", "end")]
    return lsp.TextDocumentContentChangePartial(range=lsp.Range(*ends), text=change["text"])


@settings(max_examples=300, deadline=None)
@given(text=TEXTS, seed=st.integers(0, 2**32), encoding=st.sampled_from(ENCODINGS))
@example(text="x = '\u2028'\ndef g(): pass", seed=7, encoding="utf-16")
def test_edits_follow_a_plain_model(text: str, seed: int, encoding: Encoding) -> None:
    choose = random.Random(seed)  # noqa: S311
    documents = Documents()
    documents.encoding = encoding
    document = documents.open(lsp.TextDocumentItem(uri="file:///a.py", language_id="python", version=1, text=text))
    for version in range(2, 10):
        changes = []
        for _ in range(choose.randint(1, 3)):
            change = random_change(text, choose, encoding)
            text = model_edit(text, change, encoding)
            changes.append(to_lsp(change))
        documents.change("file:///a.py", version, changes)
        assert document.text == text
        assert [document.line(n) for n in range(document.line_count)] == [line for line, _ in model_lines(text)]


@pytest_asyncio.fixture
async def server() -> AsyncIterator[LspClient]:
    async with LspClient.start((sys.executable, "-m", "tests.lsp.faulty_server"), cwd=ROOT) as client:
        await client.initialize()
        yield client


async def test_edits_through_the_server(server: LspClient) -> None:
    choose = random.Random(20)  # noqa: S311
    for encoding in ENCODINGS:
        await server.request("test/encoding", encoding)
        uri = f"file:///w/{encoding}.py"
        text = "def f():\f\n\treturn '😀\u2028é'\r\n"
        server.open(uri, text)
        for _ in range(40):
            changes = []
            for _ in range(choose.randint(1, 4)):
                change = random_change(text, choose, encoding)
                text = model_edit(text, change, encoding)
                changes.append(change)
            server.change(uri, *changes)
            assert await server.request("test/text", uri) == text
        server.change(uri, "whole\n")
        assert await server.request("test/text", uri) == "whole\n"


# --- positions -------------------------------------------------------------------------------------------------------


@given(line=st.text(st.sampled_from("aé日😀\f\u2028"), max_size=12), encoding=st.sampled_from(ENCODINGS))
def test_columns_there_and_back(line: str, encoding: Encoding) -> None:
    for index in range(len(line) + 1):
        column = from_index(line, index, encoding)
        codec, width = CODECS[encoding]
        assert column == len(line[:index].encode(codec)) // width
        assert to_index(line, column, encoding) == index
        assert from_byte_column(line, to_byte_column(line, column, encoding), encoding) == column


@given(
    line=st.text(st.sampled_from("aé日😀"), max_size=8), column=st.integers(0, 40), encoding=st.sampled_from(ENCODINGS)
)
def test_any_column_is_some_place(line: str, column: int, encoding: Encoding) -> None:
    """Inside a character means before it, past the end means the end."""
    index = to_index(line, column, encoding)
    assert 0 <= index <= len(line)
    assert from_index(line, index, encoding) <= column
    assert index == len(line) or from_index(line, index + 1, encoding) > column


@pytest.mark.parametrize(
    ("encoding", "character", "index"), [("utf-16", 2, 1), ("utf-16", 3, 2), ("utf-8", 4, 1), ("utf-8", 5, 2)]
)
def test_inside_a_surrogate_pair(encoding: Encoding, character: int, index: int) -> None:
    assert to_index("a😀b", character, encoding) == index


@given(TEXTS)
def test_lines_are_those_of_python(text: str) -> None:
    """Line numbers of a trace are right because both split at the same places."""
    source = "".join(line + end for line, end in model_lines(text) if not line.strip()) + "pass"
    source = "".join(char for char in source if char in "\r\npas\f\t ")
    lines = Text(text=source)
    try:
        node = ast.parse(source).body[0]
    except SyntaxError:  # indented
        return
    assert lines.line(node.lineno - 1).endswith("pass")
    assert len(line_starts(source)) == lines.line_count


def test_encoding_by_preference_of_the_client() -> None:
    assert choose_encoding(["utf-32", "utf-8", "utf-16"]) == "utf-32"
    assert choose_encoding(["utf-7", "utf-8"]) == "utf-8"
    assert choose_encoding(["utf-7"]) == "utf-16"
    assert choose_encoding([]) == choose_encoding(None) == "utf-16"


# --- files that are not open -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        "s = '😀é'; y = x + 1\n".encode(),
        b"\xef\xbb\xbf" + "s = '😀é'; y = x + 1\n".encode(),
        "# coding: latin-1\ns = 'é'; y = x + 1\n".encode("latin-1"),
        "# coding: utf-8\r\ns = '日'; y = x + 1\r\n".encode(),
    ],
)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_python_columns_of_closed_files(tmp_path: Path, data: bytes, encoding: Encoding) -> None:
    """Byte columns as the compiler counts them lead to the right characters, and back."""
    file = tmp_path / "a.py"
    file.write_bytes(data)
    node = ast.parse(data).body[-1]
    assert isinstance(node, ast.Assign)
    value = node.value
    documents = Documents()
    documents.encoding = encoding
    found = documents.location(file, value.lineno, value.col_offset, value.end_lineno, value.end_col_offset)
    line = Text(text=decode_source(data)).line(found.range.start.line)
    start = to_index(line, found.range.start.character, encoding)
    end = to_index(line, found.range.end.character, encoding)
    assert line[start:end] == "x + 1"
    assert documents.position_to_bytes(file, found.range.start) == (value.lineno, value.col_offset)


def test_closed_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    documents = Documents()
    assert documents.text_at(file) is None
    for text in ("one\n", "another\n"):
        file.write_text(text)
        found = documents.text_at(file)
        assert found is not None
        assert found.text == text
    file.unlink()
    assert documents.text_at(file) is None
    assert documents.location(file, 3, 2, 3, 5).range.start == t.Position(line=2, character=2)


def test_whole_line_without_columns(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("def f():\n    return '😀'\n")
    found = Documents().location(file, 2, None, None, None).range
    assert (found.start.character, found.end.character) == (4, 15)


# --- URIs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b.py", "/a/b.py"),
        ("file:///c%3A/a%20b.py", "/c:/a b.py"),
        ("file:///c:/a b.py", "/c:/a b.py"),
        ("file:///a/%C3%A9+%2B%23%3F.py", "/a/é++#?.py"),
        ("file:///a/é#1?.py", "/a/é#1?.py"),
        ("file://localhost/a", "/a"),
        ("file:/a/b", "/a/b"),
        ("FILE:///a", "/a"),
        ("file:////a//b/../c/", "/a/c"),
        ("file:///%FF.py", "/\udcff.py"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="paths of POSIX")
def test_file_uris(uri: str, path: str) -> None:
    assert is_file_uri(uri)
    assert to_path(uri) == Path(path)
    assert to_path(to_uri(Path(path))) == Path(path)


@pytest.mark.parametrize(
    "uri",
    [
        "untitled:Untitled-1",
        "git:/a/b.py?ref",
        "file://host/a",
        "vscode-notebook-cell:/a.ipynb#X",
        "http://[",
        "file:///a%00",
    ],
)
def test_documents_that_are_no_files(uri: str) -> None:
    assert not is_file_uri(uri)
    assert not to_path(uri).exists()
    assert to_uri(to_path(uri)) == uri


def test_two_spellings_are_one_document() -> None:
    documents = Documents()
    documents.open(lsp.TextDocumentItem(uri="file:///c%3A/a%20b.py", language_id="python", version=1, text="x"))
    assert documents.get("file:///c:/a b.py") is not None
    assert documents.uri(Path("/c:/a b.py")) == "file:///c%3A/a%20b.py"
    assert documents.close("file:///c:/a%20b.py") is not None
