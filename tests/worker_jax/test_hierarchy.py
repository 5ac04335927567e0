"""Module scopes next to tracing scopes, as a picture that can be read: R33."""

from __future__ import annotations

import math
from typing import Any

import pytest

from . import cases
from .batches import documents, request
from .conftest import MODELS
from .pictures import cycle_in

pytestmark = pytest.mark.timeout(600)
X = cases.tensor(4, 6)


def made(name: str) -> dict[str, Any]:
    return cases.factory("layered", name)


REQUESTS = {
    "linen": request(MODELS, "layered", "LinenTower", [X], kind="flax.linen"),
    "linen_step": request(MODELS, "layered", "linen_train_step", inputs=made("linen_train_inputs")),
    "linen_itself": request(MODELS, "layered", "ScansItself", [X], kind="flax.linen"),
    "linen_call": request(MODELS, "layered", "HasScannedCall", [X], kind="flax.linen"),
    "nnx": request(MODELS, "layered", "Tower", [X], kind="flax.nnx"),
    "nnx_step": request(MODELS, "layered", "nnx_train_step", inputs=made("nnx_train_inputs")),
    "transformed": request(MODELS, "layered", "Transformed", [X], kind="flax.nnx"),
    "tied": request(MODELS, "layered", "Tied", [cases.tensor(3, dtype="int32")], kind="flax.nnx"),
    "makes": request(MODELS, "layered", "makes_its_model", [X]),
    "maps": request(MODELS, "layered", "maps_over_models", inputs=made("block_inputs")),
    "trees": request(MODELS, "layered", "trees_of_models", inputs=made("block_inputs")),
    "two": request(MODELS, "layered", "two_models", inputs=made("two_inputs")),
    "closes": request(MODELS, "layered", "closes_over", [X]),
    "alone": request(MODELS, "layered", "leaves_it_alone", [X]),
}


@pytest.fixture(scope="module")
def layered(models_python: str) -> dict[str, Any]:
    return documents(models_python, REQUESTS)


@pytest.mark.parametrize("name", list(REQUESTS))
def test_closed_scopes_leave_an_acyclic_picture(layered: dict[str, Any], name: str) -> None:
    # R33: also of train steps, whose forward and backward parts interleave, and of shared layers
    assert "failure" not in layered[name], layered[name]["failure"]
    assert cycle_in(layered[name]) is None


@pytest.mark.parametrize("name", [name for name in cases.CASES if not name.startswith("random")])
def test_every_case_is_an_acyclic_picture(captured: dict[str, Any], name: str) -> None:
    assert cycle_in(captured[name]["document"]) is None


def scopes(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {scope["id"]: scope for scope in document["scopes"]}


def paths(graph: dict[str, Any]) -> set[tuple[str, str]]:
    found = {(s["path"], s["class"].rpartition(".")[2]) for s in graph["scopes"] if "path" in s}
    return found.union(*(paths(body) for body in graph["bodies"]))


def test_nnx_modules_have_instance_paths(layered: dict[str, Any]) -> None:
    # R33: nested, shared, in lists and dictionaries, inherited, recursive
    document = layered["nnx"]
    assert paths(document) == {
        ("", "Tower"),
        *((owner, "Wider" if owner == "wide" else "Block") for owner in ("again", "blocks/0", "blocks/1", "wide")),
        *((f"{owner}/norm", "LayerNorm") for owner in ("again", "blocks/0", "blocks/1", "wide")),
        *(
            (f"{owner}/{name}", "Linear")
            for owner in ("again", "blocks/0", "blocks/1", "wide")
            for name in ("up", "down")
        ),
        ("by_name/a", "Linear"),
        ("head", "Linear"),
    }
    modules: list[dict[str, Any]] = [scope for scope in document["scopes"] if scope["kind"] == "module"]
    assert {scope["evidence"] for scope in modules} == {"instance_path"}
    found = scopes(document)
    # one instance under two names is one module, entered twice; its helper method is a scope inside
    assert found["Tower/again"]["path"] == found["Tower/again:1"]["path"] == "again"
    assert found["Tower/again/Block.feed_forward"]["path"] == "again"
    assert "Tower/wide/norm:1" in found  # the call of itself is the same call


def test_nnx_modules_keep_their_paths_through_transformations(layered: dict[str, Any]) -> None:
    # R33: jit, remat and scan hand copies to the function
    document = layered["transformed"]
    assert {"first/up", "second/down", "layers/norm"} <= {path for path, _ in paths(document)}
    (scan,) = [op for op in document["operations"] if op["primitive"] == "scan"]
    body = document["bodies"][scan["bodies"][0]["body"]]
    assert {scope["id"] for scope in body["scopes"]} >= {"layers/norm", "layers/Block.feed_forward/up"}


@pytest.mark.parametrize(("name", "root"), [("linen_step", "LinenTower"), ("nnx_step", "model")])
def test_forward_and_backward_of_a_module_are_told_apart(layered: dict[str, Any], name: str, root: str) -> None:
    # R33
    found = scopes(layered[name])
    forward, backward = found[f"jvp({root})/head"], found[f"transpose(jvp({root}))/head"]
    assert forward["path"] == backward["path"]
    assert forward["class"] == backward["class"]
    assert forward["parameters"] == backward["parameters"] == {"count": 14, "bytes": 56}
    inside = [op["scope"] for op in layered[name]["operations"]]
    order = list(found)
    assert max(at for at, scope in enumerate(inside) if scope == order.index(forward["id"])) < min(
        at for at, scope in enumerate(inside) if scope == order.index(backward["id"])
    )


@pytest.mark.parametrize(("name", "collection", "skip"), [("linen", "params", 1), ("nnx", "Param", 0)])
def test_state_belongs_to_modules_by_path(layered: dict[str, Any], name: str, collection: str, skip: int) -> None:
    # R33, R41: what a module's scope says is what the state under its path adds up to
    document = layered[name]
    states = [value for value in document["values"] if value.get("collection") == collection]
    assert states
    for scope in document["scopes"]:
        if "parameters" in scope:
            prefix = scope["path"].split("/") if scope["path"] else []
            held: list[Any] = [v for v in states if v["name"].split("/")[skip:][: len(prefix)] == prefix]
            assert scope["parameters"]["count"] == sum(math.prod(value["shape"]) for value in held), scope["id"]
            assert scope["parameters"]["bytes"] == 4 * scope["parameters"]["count"]


def test_a_shared_variable_counts_once(layered: dict[str, Any]) -> None:
    # R41
    found = scopes(layered["tied"])
    assert found["Tied/embed"]["parameters"]["count"] == 20
    assert found["Tied/unembed"]["parameters"]["count"] == 45
    assert found["Tied"]["parameters"]["count"] == 45


def counts(graph: dict[str, Any]) -> dict[str, int]:
    """Of a graph and of the bodies in it, by the last part of the scope."""
    found = {s["id"].rpartition("/")[2]: s["parameters"]["count"] for s in graph["scopes"] if "parameters" in s}
    for body in graph["bodies"]:
        found |= counts(body)
    return found


def test_parameters_of_a_module_that_scans_itself_are_all_and_in_the_body_those_of_one(layered: dict[str, Any]) -> None:
    # R41
    assert counts(layered["linen_itself"]) == {
        "ScansItself": 378,
        "ScansItself.ends": 378,
        "ScansItself.rows": 126,
        "ScansItself.<lambda>": 42,
        "Dense_0": 42,
    }
    assert counts(layered["linen_call"]) == {"HasScannedCall": 126, "ScannedCall_0": 42, "Dense_0": 42}


def test_arguments_name_their_modules(layered: dict[str, Any]) -> None:
    found = scopes(layered["two"])
    assert found["generator"]["path"] == "generator"
    assert found["discriminator/Block.feed_forward/down"]["path"] == "discriminator/down"
    names = {value["name"] for value in layered["two"]["values"] if value["role"] == "state"}
    assert {"generator/up/kernel", "discriminator/norm/scale"} <= names


@pytest.mark.parametrize("name", ["makes", "alone", "trees"])
def test_a_model_that_the_function_holds_is_a_root_of_its_own(layered: dict[str, Any], name: str) -> None:
    # a program that compares its modules with others is traced without marks in them, and changes nothing outside
    found = scopes(layered[name])
    assert found["Block"]["path"] == ""
    assert found["Block/norm"]["path"] == "norm"


def test_a_global_model_has_its_name(layered: dict[str, Any]) -> None:
    # R33
    found = scopes(layered["closes"])
    assert found["GLOBAL"]["path"] == "GLOBAL"
    assert found["GLOBAL/norm"]["path"] == "GLOBAL/norm"
    names = {value["name"] for value in layered["closes"]["values"] if value["role"] == "state"}
    assert {"GLOBAL/up/kernel", "GLOBAL/norm/scale"} <= names


def test_marks_are_nowhere_in_a_document(layered: dict[str, Any]) -> None:
    for document in layered.values():
        assert "tvls" not in str({key: part for key, part in document.items() if key != "captureId"})
