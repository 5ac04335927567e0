"""Edits of `tensorviz.toml`: what was meant is changed, and nothing else."""

from __future__ import annotations

import difflib
import tomllib
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tvls.setup.edit import EditError, edit_profile, same

DOCUMENT = """\
# Setups of the small models.
version = 1

[profiles.other]   # not ours
model = 'm:Other'
kind = "model"

[profiles.mlp] # first
kind = 'model'   # quoted so
framework = "jax"
model = "m:MLP"
note = 3 # a key that nobody knows
init = { args = [], kwargs = { width = 16 } }
inputs = { args = [
  { kind = "tensor", shape = [2, 3], dtype = "float32" }, # x
  { kind = "tensor", shape = [2], dtype = "int32" }, # y
], kwargs = { train = true } } # end

[tail]
x = 1  # stays
"""


def edited(text: str, name: str, change: Any) -> str:
    table = deepcopy(tomllib.loads(text)["profiles"][name])
    change(table)
    return edit_profile(text, name, table)


def changed_lines(before: str, after: str) -> list[str]:
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line[0] in "+-"]


def test_a_shape_changes_and_its_line_alone() -> None:  # R9
    after = edited(DOCUMENT, "mlp", lambda table: table["inputs"]["args"][0].update(shape=[4, 3]))
    assert changed_lines(DOCUMENT, after) == [
        '-   { kind = "tensor", shape = [2, 3], dtype = "float32" }, # x',
        '+   { kind = "tensor", shape = [4, 3], dtype = "float32" }, # x',
    ]


def test_a_value_keeps_the_comment_beside_it() -> None:  # R9
    after = edited(DOCUMENT, "mlp", lambda table: table.update(note=4))
    assert changed_lines(DOCUMENT, after) == [
        "- note = 3 # a key that nobody knows",
        "+ note = 4 # a key that nobody knows",
    ]


def test_keys_are_added_where_their_table_is() -> None:  # R9
    def change(table: dict[str, Any]) -> None:
        table["seed"] = 7
        table["init"]["kwargs"]["depth"] = 2

    after = edited(DOCUMENT, "mlp", change)
    assert len(changed_lines(DOCUMENT, after)) == 3
    assert after.startswith(DOCUMENT[: DOCUMENT.index("init = ")])
    assert after.endswith("[tail]\nx = 1  # stays\n")


def test_a_new_profile_goes_to_the_end() -> None:  # R9
    table = {"model": "m:New", "inputs": {"args": [{"kind": "tensor", "shape": [2], "dtype": "int8"}], "kwargs": {}}}
    after = edit_profile(DOCUMENT, "a new one", table)
    assert after.startswith(DOCUMENT)
    assert '[profiles."a new one"]' in after
    assert tomllib.loads(after)["profiles"]["a new one"] == table


@pytest.mark.parametrize("text", ["", "# only a comment\n", "version = 1\n", "version = 1"])
def test_a_file_without_profiles_gets_the_first(text: str) -> None:
    after = edit_profile(text, "p", {"model": "m:f"})
    assert tomllib.loads(after) == {"version": 1, "profiles": {"p": {"model": "m:f"}}}
    assert after.startswith(text.rstrip("\n"))


def test_line_ends_and_the_mark_of_the_file_are_kept() -> None:
    text = "\ufeff" + DOCUMENT.replace("\n", "\r\n")
    table = tomllib.loads(DOCUMENT)["profiles"]["mlp"]
    table["init"]["kwargs"]["width"] = 32
    for name in ("mlp", "new"):
        after = edit_profile(text, name, table)
        assert after.startswith("\ufeff")
        assert after.count("\n") == after.count("\r\n")


def test_what_cannot_be_edited_says_so() -> None:
    for text in ("[profiles", "profiles = 3\n"):
        with pytest.raises(EditError):
            edit_profile(text, "p", {"model": "m:f"})


# --- any document, any edit ------------------------------------------------------------------------------------------

STYLES = {
    "inline": """\
[profiles.p] # header
model = "m:f" # model
init = { kwargs = { a = 1, "b c" = 'x' } } # init
inputs = { args = [{ kind = "tensor", shape = [2, 3], dtype = "float32" }, 3], kwargs = {} }
""",
    "dotted": """\
[profiles.p]
model = "m:f"
init.kwargs.a = 1 # first
init.kwargs."b c" = "x" # second
inputs.args = [ # open
    { kind = "tensor", shape = [ 2, 3 ], dtype = "float32" }, # tensor
    3, # three
]
inputs.kwargs = {}
""",
    "headers": """\
[profiles.p]
model = "m:f"

# construction
[profiles.p.init.kwargs]
a = 1 # first
"b c" = "x"

[profiles.p.inputs]
args = [{ kind = "tensor", shape = [2, 3], dtype = "float32" }, 3] # all
kwargs = {}
""",
    "root": """\
profiles.p.model = "m:f" # root
profiles.p.init.kwargs = { a = 1, "b c" = "x" }
profiles.p.inputs.args = [{ kind = "tensor", shape = [2, 3], dtype = "float32" }, 3]
profiles.p.inputs.kwargs = {} # none
""",
}
BEFORE = "# head\nversion = 1 # format\n"
AFTER = '[tool] # another\nx = [1,2 , 3] # as it is\n\'q\' = """\ntext\n"""\n'
SIBLING = "\n[profiles.sibling] # another profile\nmodel = 'm:g'\nseed=3\n\n"
NAMES = st.sampled_from(["a", "b c", "new", "größe", 'q"'])
PLAIN = st.one_of(st.integers(-5, 5), st.booleans(), st.text("ab\"'\\#\n", max_size=4), st.floats(-2, 2))
TENSOR = st.fixed_dictionaries({"kind": st.just("tensor"), "shape": st.lists(st.integers(0, 9), max_size=3)})
VALUE = st.one_of(PLAIN, TENSOR, st.lists(PLAIN, max_size=2), st.dictionaries(NAMES, PLAIN, max_size=2))


@st.composite
def edits(draw: st.DrawFn, table: dict[str, Any]) -> dict[str, Any]:
    table = deepcopy(table)
    for _ in range(draw(st.integers(1, 3))):
        match draw(st.sampled_from(["seed", "set", "remove", "argument", "shape", "append", "drop", "factory"])):
            case "seed":
                table["seed"] = draw(st.integers(0, 9))
            case "set":
                table.setdefault("init", {}).setdefault("kwargs", {})[draw(NAMES)] = draw(VALUE)
            case "remove":
                table.get("init", {}).get("kwargs", {}).pop(draw(NAMES), None)
            case "argument" if table["inputs"].get("args"):
                table["inputs"]["args"][-1] = draw(VALUE)
            case "shape" if table["inputs"].get("args") and isinstance(table["inputs"]["args"][0], dict):
                table["inputs"]["args"][0]["shape"] = draw(st.lists(st.integers(0, 9), max_size=3))
            case "append":
                table["inputs"].setdefault("args", []).append(draw(VALUE))
            case "drop" if table["inputs"].get("args"):
                table["inputs"]["args"].pop()
            case "factory":
                table["init"] = {"factory": {"file": "f.py", "callable": "make"}}
            case _:
                pass
    return table


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_edit_changes_its_profile_alone(data: st.DataObject) -> None:  # R9
    style = data.draw(st.sampled_from(sorted(STYLES)))
    crlf = data.draw(st.booleans())
    # Dotted keys of the root have to stand above every header.
    sibling = SIBLING if style != "root" else "\n" + SIBLING
    text = BEFORE + STYLES[style] + sibling + AFTER
    if crlf:
        text = text.replace("\n", "\r\n")
    table = tomllib.loads(text)["profiles"]["p"]
    wanted = data.draw(edits(table))
    after = edit_profile(text, "p", wanted)
    newline = "\r\n" if crlf else "\n"
    read = tomllib.loads(after)
    assert same(read["profiles"]["p"], wanted)
    assert after.startswith(BEFORE.replace("\n", newline))
    # Everything of the others is there byte for byte.
    for part in (SIBLING.strip("\n"), AFTER):
        assert part.replace("\n", newline) in after
    # Comments at keys that are still there, as they were, are still there, too.
    if same(wanted.get("init"), table.get("init")):
        for comment in ("# first", "# second", "# init", "# construction"):
            assert (comment in text) == (comment in after)
    if crlf:
        assert after.count("\n") == after.count("\r\n")


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_no_edit_changes_nothing(data: st.DataObject) -> None:  # R9
    text = BEFORE + STYLES[data.draw(st.sampled_from(sorted(STYLES)))] + SIBLING + AFTER
    assert edit_profile(text, "p", tomllib.loads(text)["profiles"]["p"]) == text


@pytest.mark.parametrize(
    "text",
    [
        # a line of another value looks like the profile's header
        'note = """\n[profiles.a]\n"""\n[profiles.a]\nmodel = "m:f" # f\n',
        # and one of its own value like the header of another
        '[profiles.a]\nmodel = "m:f" # f\nnote = """\n[profiles.b]\n"""\nseed = 1 # one\n[profiles.c]\nmodel = "m:g"\n',
        # its tables stand apart
        '[profiles.a.init]\nargs = []\n[profiles.b]\nmodel = "m:g"\n[profiles.a]\nmodel = "m:f" # f\n',
        # it has no header of its own
        '[profiles]\na = { model = "m:f" }\n# f\n[profiles.b]\nmodel = "m:g"\n',
        'profiles.a.model = "m:f" # f\nprofiles.b.model = "m:g"\n',
        # names that hold each other, and quoted ones
        '[profiles.aa]\nmodel = "m:g"\n[ profiles . "a" ] # f\nmodel = "m:f"\n[profiles.aaa]\nmodel = "m:g"\n',
        # lists of tables below it
        '[profiles.a]\nmodel = "m:f" # f\n[[profiles.a.inputs.args]]\nx = 1\n[[profiles.a.inputs.args]]\nx = 2\n',
    ],
)
def test_only_the_lines_of_a_profile_change_wherever_they_are(text: str) -> None:  # R9
    after = edited(text, "a", lambda table: table.update(seed=7))
    assert tomllib.loads(after)["profiles"]["a"] == {**tomllib.loads(text)["profiles"]["a"], "seed": 7}
    assert "# f" in after
    others = {name: table for name, table in tomllib.loads(text)["profiles"].items() if name != "a"}
    assert {name: table for name, table in tomllib.loads(after)["profiles"].items() if name != "a"} == others
    assert len(changed_lines(text, after)) <= 2


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_comments_above_a_header_outlive_the_table_before_it(newline: str) -> None:  # R9
    text = STYLES["headers"].replace("\n[profiles.p.inputs]", "# what it is\n\n# called with\n[profiles.p.inputs]")
    text = (text + "\n# of the next one\n[profiles.q]\nmodel = 'm:g' # the end\n").replace("\n", newline)
    made = edited(text, "p", lambda table: table.update(init={"factory": {"file": "f.py", "callable": "make"}}))
    assert newline.join(("# what it is", "", "# called with", "[profiles.p.inputs]")) in made
    emptied = edited(made, "p", lambda table: table.pop("inputs"))
    assert emptied.endswith(newline.join(("", "# of the next one", "[profiles.q]", "model = 'm:g' # the end", "")))
    alone = edited("version = 1\n" + STYLES["headers"] + "# at the end", "p", lambda table: table.pop("inputs"))
    assert alone.endswith("\n# at the end")
