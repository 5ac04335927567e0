"""Opens programs of the JAX ecosystem through `tvls trace`, and writes what came of it to docs/ecosystem.md.

The libraries of requirements/ecosystem.txt are installed into an environment of their own, below the user's cache
folder or where `--env` says; the programs are those of benchmarks/ecosystem_models. Operations are counted twice: in
the capture, and by a walk over `jax.make_jaxpr` of the same call that shares no code with it. Ends with 1 where
something does not open or the two differ.

Usage: python benchmarks/ecosystem.py [--env FOLDER] [--only PROFILE]... [--output FILE]
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MODELS = HERE / "ecosystem_models"
REQUIREMENTS = ROOT / "requirements" / "ecosystem.txt"

ENTRIES = {
    "optax": ("optax", "training step: loss, gradient, clipping, AdamW with a schedule"),
    "haiku": ("dm-haiku", "`hk.nets.ResNet18` in training, state and all"),
    "equinox": ("equinox", "gradient of a transformer block over a batch, in `filter_jit`"),
    "diffrax": ("diffrax", "neural differential equation, Tsit5 with adaptive steps"),
    "numpyro": ("numpyro", "log density of a hierarchical model, with its gradient"),
    "chex": ("chex", "update of a `chex.dataclass` with assertions"),
    "penzai": ("penzai", "MLP over named axes"),
    "optimistix": ("optimistix", "Newton's method, and its implicit gradient"),
    "jaxopt": ("jaxopt", "L-BFGS with line search"),
    "distrax": ("distrax", "mixture under a flow; the distribution is an output"),
    "mjx": ("mujoco-mjx", "one step of a double pendulum"),
    "gymnax": ("gymnax", "rollout of twenty steps of CartPole"),
    "gpt2": ("transformers", "`FlaxGPT2LMHeadModule`, four layers"),
    "bert": ("transformers", "`FlaxBertForSequenceClassificationModule`, four layers"),
    "keras": ("keras", "convolutional `Sequential` by `stateless_call`"),
}
"""By profile of ecosystem_models/tensorviz.toml: the distribution, and what is opened."""

CALLS = {"jit", "pjit", "closed_call", "core_call", "eval_jaxpr", "remat2", "checkpoint"}
CALLS |= {"custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"}


# --- in the capture Python: the other count --------------------------------------------------------------------------


def count_operations(profiles: dict[str, Any]) -> None:
    """Print `{profile: operations, or the error}` as plain JAX has them, calls inlined."""
    sys.path.insert(0, os.getcwd())
    counts: dict[str, Any] = {}
    for name, profile in profiles.items():
        try:
            counts[name] = count(_jaxpr(profile))
        except Exception as error:  # noqa: BLE001  (it is the answer)
            counts[name] = f"{type(error).__name__}: {error}"
    print("\n" + json.dumps(counts))


def _jaxpr(profile: dict[str, Any]) -> Any:
    import jax
    import numpy as np

    module, _, name = profile["model"].partition(":")
    target = getattr(importlib.import_module(module), name)
    if "factory" in profile["inputs"]:
        given = importlib.import_module(module).inputs()
    else:
        described = (i for i in profile["inputs"]["args"] if i["kind"] == "tensor")
        given = [jax.ShapeDtypeStruct(tuple(item["shape"]), item["dtype"]) for item in described]
        given += [None] * (len(profile["inputs"]["args"]) - len(given))
        factory = profile["init"]["factory"]
        model = getattr(importlib.import_module(factory["file"].removesuffix(".py")), factory["callable"])()
        variables = jax.eval_shape(lambda *args: model.init(jax.random.key(0), *args), *given)
        target, given = model.apply, [variables, *given]
    leaves, treedef = jax.tree.flatten(given)
    arrays = [i for i, leaf in enumerate(leaves) if isinstance(leaf, (jax.Array, np.ndarray, jax.ShapeDtypeStruct))]

    def call(*tracers: Any) -> Any:
        merged = list(leaves)
        for at, tracer in zip(arrays, tracers, strict=True):
            merged[at] = tracer
        args = jax.tree.unflatten(treedef, merged)
        result = target(**args) if isinstance(args, dict) else target(*args)
        return [leaf for leaf in jax.tree.leaves(result) if isinstance(leaf, jax.Array)]

    return jax.make_jaxpr(call)(*(leaves[at] for at in arrays)).jaxpr


def count(jaxpr: Any) -> int:
    """Operations of a jaxpr, those of calls in place of the calls."""
    total = 0
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in CALLS:
            inner = eqn.params.get("jaxpr") or eqn.params.get("call_jaxpr") or eqn.params["fun_jaxpr"]
            total += count(getattr(inner, "jaxpr", inner))
        else:
            total += 1
    return total


# --- outside ---------------------------------------------------------------------------------------------------------


def make_environment(folder: Path) -> Path:
    """The Python of the environment, with the libraries in it."""
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    if not stamp.is_file() or stamp.read_bytes() != REQUIREMENTS.read_bytes():
        print(f"installing {REQUIREMENTS.relative_to(ROOT)} into {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", REQUIREMENTS], check=True)
        shutil.copyfile(REQUIREMENTS, stamp)
    return python


def versions(python: Path, distributions: set[str]) -> dict[str, str]:
    names = sorted(distributions | {"jax", "flax"})
    code = "import importlib.metadata as m, json, platform, sys; "
    code += "print(json.dumps({n: m.version(n) for n in sys.argv[1:]} | {'python': platform.python_version()}))"
    ran = subprocess.run([python, "-c", code, *names], check=True, capture_output=True, text=True)
    return json.loads(ran.stdout)


def trace(python: Path, folder: Path, profile: str, environment: dict[str, str] | None = None) -> dict[str, Any] | str:
    """The capture, or why there is none. The process has that environment, or this one's."""
    command = [sys.executable, "-m", "tvls", "trace", "--trust", "--python", str(python), "--folder", str(folder)]
    ran = subprocess.run(
        [*command, "--profile", profile, "--json"], capture_output=True, text=True, check=False, env=environment
    )
    try:
        answer = json.loads(ran.stdout)
    except json.JSONDecodeError:
        return (ran.stderr.strip() or f"exit code {ran.returncode}").splitlines()[-1]
    return answer if "operations" in answer else f"does not open: {answer['error']['message']}"


def modules_of(capture: dict[str, Any]) -> str:
    scopes = [scope for graph in _graphs(capture) for scope in graph["scopes"] if scope["kind"] == "module"]
    evidence = sorted({scope["evidence"] for scope in scopes})
    return f"{len(scopes)} ({', '.join(evidence)})" if scopes else "none"


def _graphs(graph: dict[str, Any]) -> list[dict[str, Any]]:
    return [graph, *(inner for body in graph["bodies"] for inner in _graphs(body))]


def notes_of(capture: dict[str, Any]) -> str:
    bodies = _graphs(capture)[1:]
    notes = list(capture["setup"]["notes"])
    opaque = Counter(op["primitive"] for op in capture["operations"] if "opaque" in op)
    if opaque:
        notes.insert(0, "opaque: " + ", ".join(f"{count} {name}" for name, count in sorted(opaque.items())))
    if bodies:
        inside = sum(len(body["operations"]) for body in bodies)
        notes.append(f"to open: {_many(len(bodies), 'body', 'bodies')} of {_many(inside, 'operation', 'operations')}")
    return "; ".join(notes)


def _many(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, help="folder of the environment; made where it is not there")
    parser.add_argument("--only", action="append", choices=ENTRIES)
    parser.add_argument("--output", type=Path, help="default: docs/ecosystem.md, or nowhere with --only")
    parser.add_argument("--count", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.count:
        count_operations(json.load(sys.stdin))
        return 0
    import platformdirs

    python = make_environment((arguments.env or platformdirs.user_cache_path("tvls") / "ecosystem").absolute())
    installed = versions(python, {distribution for distribution, _ in ENTRIES.values()})
    chosen = [name for name in ENTRIES if name in (arguments.only or ENTRIES)]
    profiles = tomllib.loads((MODELS / "tensorviz.toml").read_text())["profiles"]
    rows, faults = [], 0
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(shutil.copytree(MODELS, Path(directory).resolve() / "models"))
        ran = subprocess.run(
            [python, "-B", __file__, "--count"],
            input=json.dumps({name: profiles[name] for name in chosen}),
            cwd=folder,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        expected = json.loads(ran.stdout.splitlines()[-1])
        for name in chosen:
            distribution, opened = ENTRIES[name]
            capture = trace(python, folder, name)
            cells = [f"{distribution} {installed[distribution]}", opened]
            if isinstance(capture, str):
                cells += ["-", "-", "-", capture.replace("|", "\\|").replace("\n", " ")]
                faults += 1
            else:
                found, notes = len(capture["operations"]), notes_of(capture)
                if found != expected[name]:
                    notes = f"**{expected[name]} by `make_jaxpr`**; {notes}"
                    faults += 1
                cells += [f"{found:,}", modules_of(capture), capture["coverage"]["status"], notes]
            rows.append("| " + " | ".join(cells) + " |")
            print(rows[-1], flush=True)
    output = arguments.output or (None if arguments.only else ROOT / "docs" / "ecosystem.md")
    if output is not None:
        output.write_text(document(rows, installed))
    return 1 if faults else 0


def document(rows: list[str], installed: dict[str, str]) -> str:
    used = ", ".join(f"{title} {installed[name]}" for name, title in (("jax", "JAX"), ("flax", "Flax")))
    return f"""# The ecosystem of JAX, opened

Written by `benchmarks/ecosystem.py`, with Python {installed["python"]}, {used}. Each program is in
`benchmarks/ecosystem_models/` and was opened by its profile there, through `tvls trace`. Operations are those of the
capture, calls inlined; where a separate walk over `jax.make_jaxpr` of the same call counts others, the notes say so.
Module scopes tell what they were found by; those in bodies count. *Partial* means that boundaries stay closed: their
bodies open as graphs of their own, and nothing in them is claimed to have run.

| library | opened | operations | module scopes | coverage | notes |
|---|---|---:|---|---|---|
{chr(10).join(rows)}
"""


if __name__ == "__main__":
    sys.exit(main())
