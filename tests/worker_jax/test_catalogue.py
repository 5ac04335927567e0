"""Hundreds of small programs over all of JAX: each capture against an independent reading, in two processes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .conftest import HERE

pytestmark = pytest.mark.timeout(600)

PRIMITIVES = {
    "add_any",
    "argmax",
    "bcoo_dot_general",
    "bcoo_fromdense",
    "bitcast_convert_type",
    "broadcast_in_dim",
    "cholesky",
    "clamp",
    "concatenate",
    "cond",
    "conv_general_dilated",
    "convert_element_type",
    "cumsum",
    "custom_linear_solve",
    "debug_callback",
    "device_put",
    "dot_general",
    "dynamic_slice",
    "dynamic_update_slice",
    "eigh",
    "fft",
    "gather",
    "igamma",
    "integer_pow",
    "io_callback",
    "iota",
    "lu",
    "optimization_barrier",
    "pad",
    "pallas_call",
    "pure_callback",
    "qr",
    "ragged_dot_general",
    "random_bits",
    "random_fold_in",
    "random_seed",
    "random_split",
    "random_unwrap",
    "random_wrap",
    "reduce",
    "reduce_max",
    "reduce_precision",
    "reduce_window",
    "reduce_window_max",
    "rng_bit_generator",
    "scan",
    "scatter",
    "scatter-add",
    "scatter_max",
    "scatter_mul",
    "select_and_scatter_add",
    "select_n",
    "shard_map",
    "sharding_constraint",
    "sort",
    "svd",
    "top_k",
    "transpose",
    "triangular_solve",
    "while",
}
"""What the programs have to reach at least, in every version of JAX."""


def run(python: str, out: Path, what: str, seed: str) -> dict[str, Any]:
    command = [python, "-B", str(HERE / "program_runner.py"), str(out), what]
    ran = subprocess.run(
        command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=False, timeout=500
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(out.read_text())


@pytest.fixture(scope="module")
def checked(models_python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(models_python, tmp_path_factory.mktemp("programs") / "checked.json", "check", "1")


def test_every_program_agrees_with_its_jaxpr(checked: dict[str, Any]) -> None:
    # R14, R15, R16, R17, R18: operations, operands, shapes, dtypes, bodies, parameters, reasons
    faults = {name: result["fault"] for name, result in checked["programs"].items() if "fault" in result}
    assert not faults, f"{list(faults)}\n{next(iter(faults.values()))}"
    assert len(checked["programs"]) > 450


def test_the_programs_reach_all_of_jax(checked: dict[str, Any]) -> None:
    assert checked["unknown"] == [], "public operations of jax.lax that no program calls"
    refused = [name for name, result in checked["programs"].items() if "refused" in result]
    assert len(refused) < len(checked["programs"]) / 10, refused  # older versions lack some
    reached = {primitive for result in checked["programs"].values() for primitive in result.get("primitives", ())}
    renamed = {name.replace("-", "_") for name in reached}
    missing = {name for name in PRIMITIVES if name.replace("-", "_") not in renamed}
    assert not missing


def test_another_process_gives_the_same_documents(checked: dict[str, Any], models_python: str, tmp_path: Path) -> None:
    # R18: nothing of an address, of the order of a set or of a hash is in a document
    again = run(models_python, tmp_path / "again.json", "digest", "77")
    digests = [{name: result.get("digest") for name, result in found["programs"].items()} for found in (checked, again)]
    assert digests[0] == digests[1]
