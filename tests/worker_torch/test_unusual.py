"""Programs that are unusual and valid: what reads what, by the names of state and of the operations that made it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.worker_jax.batches import documents, request
from tests.worker_torch.test_captures import assert_sound, scopes, tensor

HERE = Path(__file__).parent
pytestmark = pytest.mark.timeout(600)

PROGRAMS: dict[str, list[str]] = {
    "Nested": [
        "__getitem__(x)",
        "detach(__getitem__)",
        "detach(x)",
        "_nested_tensor_from_tensor_list(detach, detach)",
        "linear(_nested_tensor_from_tensor_list, linear.weight, linear.bias)",
        "nested_to_padded_tensor(linear)",
        "-> nested_to_padded_tensor",
    ],
    "Sparse": [
        "to_sparse(x)",
        "t(x)",
        "_sparse_mm(to_sparse, t)",
        "-> tuple(_sparse_mm, to_sparse)",
    ],
    "Complex": [
        "rfft(x)",
        "view_as_real(rfft)",
        "abs(rfft)",
        "real(rfft)",
        "-> tuple(view_as_real, abs, real)",
    ],
    "Unchanged": [
        "dropout(x)",
        "to(dropout)",
        "square(to)",
        "rsqrt(square)",
        "mul(to, rsqrt)",
        "add(dropout, mul)",
        "-> add",
    ],
    "Hooked": [
        "add(x)",
        "linear(add, linear.weight, linear.bias)",
        "mul(linear)",
        "-> mul",
    ],
    "GlobalHook": [
        "linear(x, linear.weight, linear.bias)",
        "mul(linear)",
        "-> mul",
    ],
    "KeywordHook": [
        "mul(x)",
        "linear(mul, linear.weight, linear.bias)",
        "-> linear",
    ],
    "OwnFunction": [
        "mul(x)",
        "round(mul)",
        "add(round)",
        "-> add",
    ],
    "Checkpointed": [
        "linear(x, block.0.weight, block.0.bias)",
        "relu(linear)",
        "-> relu",
    ],
    "Functional": [
        "mul(linear.weight)",
        "linear(x, mul)",
        "-> linear",
    ],
    "Gradient": [
        "linear(x, linear.weight, linear.bias)",
        "sum(linear)",
        "grad(sum, x)",
        "detach(x)",
        "__pow__(detach)",
        "sum(__pow__)",
        "grad(sum, detach)",
        "-> tuple(grad, grad)",
    ],
    "Batched": [
        "linear(x, linear.weight, linear.bias)",
        "-> linear",
    ],
    "Held": [
        "mul(x, list.0)",
        "add(mul, list.1)",
        "mul(add, dict.scale)",
        "mul(mul, plain)",
        "add(mul, table.shift.0)",
        "-> add",
    ],
    "Parametrized": [
        "_weight_norm(normed.parametrizations.weight.original1, normed.parametrizations.weight.original0)",
        "linear(x, _weight_norm, normed.bias)",
        "flatten(spectral.parametrizations.weight.original)",
        "clone(spectral.parametrizations.weight.0._u)",
        "clone(spectral.parametrizations.weight.0._v)",
        "mv(flatten, clone)",
        "vdot(clone, mv)",
        "div(flatten, vdot)",
        "linear(linear, div, spectral.bias)",
        "triu(symmetric.parametrizations.weight.original)",
        "triu(symmetric.parametrizations.weight.original)",
        "transpose(triu)",
        "add(triu, transpose)",
        "linear(linear, add, symmetric.bias)",
        "-> linear",
    ],
    "Attempts": [
        "linear(x, narrow.weight, narrow.bias)",
        "-> linear",
    ],
    "Threaded": [
        "mul(x)",
        "linear(mul, linear.weight, linear.bias)",
        "add(linear)",
        "-> add",
    ],
    "Inference": [
        "linear(x, linear.weight, linear.bias)",
        "add(linear)",
        "-> add",
    ],
    "Mixed": [
        "linear(x, linear.weight, linear.bias)",
        "-> linear",
    ],
    "Copied": [
        "__deepcopy__(x)",
        "data(linear.weight)",
        "clone(data)",
        "data(linear.bias)",
        "clone(data)",
        "linear(x, clone, clone)",
        "add(linear, __deepcopy__)",
        "-> add",
    ],
    "Direct": [
        "linear(x, linear.weight, linear.bias)",
        "-> linear",
    ],
    "ReturnsItself": [
        "add(x)",
        "-> unusual.ReturnsItself",
    ],
    "Generator": [
        "unbind(x)",
        "mul(unbind)",
        "mul(unbind)",
        "-> list(mul, mul)",
    ],
    "Passes": [
        "__getitem__(x)",
        "-> tuple(x, y, __getitem__, tuple(x, x))",
    ],
    "Storage": [
        "empty()",
        "resize_(empty)",
        "copy_(resize_, x)",
        "empty()",
        "set_(empty, copy_)",
        "add_(set_)",
        "empty()",
        "sum(add_, empty)",
        "mul(add_)",
        "-> tuple(mul, sum)",
    ],
    "Subclassed": [
        "mul(x)",
        "add(mul)",
        "-> add",
    ],
    "Custom": [
        "twice(x)",
        "fill(twice)",
        "add(fill)",
        "-> add",
    ],
    "Static": [
        "linear(x, linear.weight, linear.bias)",
        "-> linear",
    ],
    "Data": [
        "data(linear.weight)",
        "mul(data)",
        "linear(x, mul, linear.bias)",
        "data(x)",
        "zero_(data)",
        "add(linear, zero_)",
        "-> add",
    ],
    "Indexed": [
        "unbind(x)",
        "__getitem__(unbind)",
        "mul(__getitem__)",
        "__setitem__(x, mul)",
        "gt(__setitem__)",
        "__setitem__(__setitem__, gt)",
        "add(__setitem__)",
        "view(__setitem__)",
        "-> tuple(add, view)",
    ],
    "Made": [
        "empty()",
        "kaiming_uniform_(empty)",
        "linear(x, kaiming_uniform_)",
        "-> linear",
    ],
    "Told": [
        "-> list(list(1.0, 1.0, 1.0, 1.0), list(1.0, 1.0, 1.0, 1.0))",
    ],
    "Numpy": [
        "numpy(x)",
        "lift_fresh(?)",
        "add(lift_fresh, x)",
        "-> add",
    ],
    "Kept": [
        "add(cache, x)",
        "add_(add)",
        "mul(add_)",
        "-> mul",
    ],
    "Foreach": [
        "add(x)",
        "add(x)",
        "_foreach_add_(add, add)",
        "add(_foreach_add_, _foreach_add_)",
        "-> add",
    ],
    "Iterated": [
        "unbind(x)",
        "add(unbind)",
        "add(unbind)",
        "-> tuple(list(add, add), 2, 4, [2, 4])",
    ],
    "Attributes": [
        "T(x)",
        "mul_(T)",
        "mT(mul_)",
        "add(mT)",
        "H(mul_)",
        "-> tuple(add, H, [2, 4], True)",
    ],
    "Chosen": [
        "sum(x)",
        "gt(sum)",
        "__bool__(gt)",
        "linear(x, wide.weight, wide.bias)",
        "add(linear)",
        "-> add",
    ],
    "Each": [
        "unbind(x)",
        "sin(unbind)",
        "mul(sin)",
        "sin(unbind)",
        "mul(sin)",
        "stack(mul, mul)",
        "-> stack",
    ],
    "OfHolders": [
        "add(x)",
        "mul(scale, add)",
        "add(mul)",
        "-> add",
    ],
    "Wrapped": [
        "mul(x)",
        "add(x)",
        "mul(?, mul, add)",
        "add(mul, mul)",
        "-> add",
    ],
    "BatchedWrites": [
        "mul(x)",
        "__getitem__(mul)",
        "zero_(__getitem__)",
        "view(zero_)",
        "-> view",
    ],
    "Learns": [
        "linear(x, linear.weight)",
        "sum(linear)",
        "backward(sum)",
        "mul(backward)",
        "-> mul",
    ],
    "Deep": [
        "relu(x)",
        "-> relu",
    ],
    "rewritten": [
        "linear(input, 0.weight, 0.bias)",
        "relu(linear)",
        "-> relu",
    ],
    "static_quantised": [
        "__float__(quant.scale)",
        "__int__(quant.zero_point)",
        "quantize_per_tensor(x)",
        "linear(quantize_per_tensor)",
        "dequantize(linear)",
        "-> dequantize",
    ],
}


def opened(name: str, *args: Any, **more: Any) -> dict[str, Any]:
    given = args or (tensor(2, 4),)
    return request(HERE, "unusual", name, list(given), kind="torch.module", framework="torch", **more)


ARGUMENTS = {
    "KeywordHook": [tensor(2, 3)],
    "Passes": [tensor(2, 4), tensor(2, 4)],
    "Flexible": [tensor(1, 2, 8, 4)],
}
OTHERS = ["Looped", "Scanned", "Flexible", "InSlots", "Addresses", "Jagged"]
"""Not compared line by line."""

MEASURED = ["Nested", "Sparse", "Complex", "Batched", "Gradient", "static_quantised", "Threaded", "Mixed"]


@pytest.fixture(scope="module")
def found(torch_python: str) -> dict[str, Any]:
    requests = {name: opened(name, *ARGUMENTS.get(name, [])) for name in [*PROGRAMS, *OTHERS]}
    everything = ["storage_aliases", "activation_statistics", "output_bytes"]
    measured = {f"{name}, measured": opened(name, measure=everything) for name in MEASURED}
    return documents(torch_python, requests | measured)


def chain(document: dict[str, Any]) -> list[str]:
    """`add(x, mul)`: each operation with what its operands are, then what the program returns."""
    names: dict[int, str] = {}
    for at, value in enumerate(document["values"]):
        if value["role"] != "intermediate":
            names[at] = value.get("name", "?")
    lines: list[str] = []
    for operation in document["operations"]:
        short = operation["primitive"].rpartition(".")[2]
        lines.append(f"{short}({', '.join(names[operand['value']] for operand in operation['inputs'])})")
        names |= dict.fromkeys(operation["outputs"], short)
    return [*lines, f"-> {_shown(document['outputs'], names)}"]


def _shown(tree: dict[str, Any], names: dict[int, str]) -> str:
    if "value" in tree:
        return names[tree["value"]]
    for kind in ("list", "tuple"):
        if kind in tree:
            return f"{kind}({', '.join(_shown(child, names) for child in tree[kind])})"
    return str(next(iter(tree.values())))


@pytest.mark.parametrize("name", PROGRAMS)
def test_edges_are_those_of_the_program(found: dict[str, Any], name: str) -> None:
    # R24
    document = found[name]
    assert "failure" not in document, document["failure"]
    assert_sound(document)
    assert chain(document) == PROGRAMS[name]


def test_shapes_inside_a_transform_are_those_of_the_whole_batch(found: dict[str, Any]) -> None:
    document = found["Batched"]
    assert document["values"][document["outputs"]["value"]]["shape"] == [2, 4]


def result(document: dict[str, Any], tree: dict[str, Any]) -> set[str]:
    """Names of what a result depends on."""
    makers = {value: operation for operation in document["operations"] for value in operation["outputs"]}
    seen: set[int] = set()
    todo = [tree["value"]]
    while todo:
        value = todo.pop()
        if value not in seen:
            seen.add(value)
            todo += [operand["value"] for operand in makers[value]["inputs"]] if value in makers else []
    return {document["values"][value].get("name", "?") for value in seen if value not in makers}


@pytest.mark.parametrize("name", OTHERS)
def test_other_captures_are_sound(found: dict[str, Any], name: str) -> None:
    # R24
    assert "failure" not in found[name], found[name]["failure"]
    assert_sound(found[name])


def test_loops_show_each_of_their_steps(found: dict[str, Any]) -> None:
    # R24: control flow is what ran
    looped, scanned = found["Looped"], found["Scanned"]
    assert [line for line in chain(looped) if line.startswith("mul")] == ["mul(x)", "mul(mul)"]
    assert [line.partition("(")[0] for line in chain(scanned)].count("add") == 2
    assert [result(scanned, tree) for tree in scanned["outputs"]["tuple"]] == [{"x"}, {"x"}]


def test_a_module_in_a_branch_is_a_scope(found: dict[str, Any]) -> None:
    assert scopes(found["Chosen"])["Chosen/wide"]["path"] == "wide"


def test_attention_that_takes_a_function_is_one_operation(found: dict[str, Any]) -> None:
    document = found["Flexible"]
    attention = document["operations"][-1]
    assert attention["primitive"] == "torch.ops.higher_order.flex_attention"
    (body,) = attention["bodies"]
    below = {operation["primitive"] for operation in document["bodies"][body["body"]]["operations"]}
    assert "aten.matmul" in below or "aten.bmm" in below
    assert result(document, document["outputs"]) >= {"q"}


def test_slots_of_a_dataclass_are_its_structure(found: dict[str, Any]) -> None:
    document = found["InSlots"]
    assert document["outputs"]["dict"]["loss"] == {"static": None}
    assert result(document, document["outputs"]["dict"]["logits"]) == {"x"}


def test_memory_that_was_freed_is_no_longer_written(found: dict[str, Any]) -> None:
    # R24: edges are true
    lines = chain(found["Addresses"])
    assert lines.count("view(?)") == 30


def test_what_asks_for_the_layout_of_a_tensor_reads_no_values(found: dict[str, Any]) -> None:
    document = found["Jagged"]
    assert "dim" not in {line.partition("(")[0] for line in chain(document)}
    for name in ("Jagged", "Learns"):
        assert "values_read_by_python" not in found[name]["setup"]["notes"]


def test_an_autocast_shows_the_dtypes_that_ran(found: dict[str, Any]) -> None:
    document = found["Mixed"]
    assert document["values"][document["outputs"]["value"]]["dtype"] == "bfloat16"


def test_modules_called_in_another_thread_stand_where_it_was_started(found: dict[str, Any]) -> None:
    assert scopes(found["Threaded"])["Threaded/linear"]["path"] == "linear"


def test_sizes_that_are_written_one_by_one_are_one_parameter(found: dict[str, Any]) -> None:
    by_name = {operation["primitive"]: operation["params"] for operation in found["Indexed"]["operations"]}
    assert by_name["torch.Tensor.view"] == {"shape": [2, 2, 2]}


@pytest.mark.parametrize("name", ["Told", "Numpy", "static_quantised"])
def test_what_takes_values_out_of_tensors_is_told(found: dict[str, Any], name: str) -> None:
    # R24
    assert "values_read_by_python" in found[name]["setup"]["notes"]


def test_no_address_is_in_a_capture(found: dict[str, Any]) -> None:
    # R18
    (copied,) = [o for o in found["Copied"]["operations"] if o["primitive"] == "torch.Tensor.__deepcopy__"]
    assert copied["params"] == {}


@pytest.mark.parametrize("fails", [True, False])
def test_what_a_forward_shares_with_others_is_as_it_was(torch_python: str, fails: bool) -> None:
    # R24: modes of every submodule, hooks of ours, random numbers, default dtype and gradient mode
    ran = subprocess.run(
        [torch_python, "-B", str(HERE / "restoring.py")],
        input=json.dumps(opened("kept", tensor(2), fails)),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    answer = json.loads(ran.stdout)
    assert answer["failed"] is fails
    assert answer["after"] == answer["before"]
    assert answer["before"]["training"] == [True, False]


@pytest.mark.parametrize("name", MEASURED)
def test_whatever_is_made_can_be_measured(found: dict[str, Any], name: str) -> None:
    # R24
    document = found[f"{name}, measured"]
    assert "failure" not in document, document["failure"]
    made = [value for value in document["values"] if value["role"] == "intermediate"]
    for value in made:
        assert value["statistics"]["elements"] > 0
        assert value["statistics"]["min"] <= value["statistics"]["mean"] <= value["statistics"]["max"]
        assert "storage" in value
    assert chain(document) == PROGRAMS[name]
