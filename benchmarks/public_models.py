"""Opens models of public repositories through `tvls trace`, and writes what came of it to docs/models.md.

The sources are those commits below `--sources`, one folder `OWNER+NAME` each; what is not there is fetched from GitHub
into the user's cache folder. Libraries are those of requirements/ecosystem.txt, in the environment of ecosystem.py.
Operations are counted twice: in the capture, and by a walk over `jax.make_jaxpr` of the same call. Ends with 1 where
the two differ, or something does not open that is not known for it.

Usage: python benchmarks/public_models.py [--sources FOLDER] [--env FOLDER] [--only NAME]... [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import ecosystem

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FACTORIES = HERE / "public_models" / "entries.py"

COMMITS = {
    "google/flax": "18f8f311c275d57f46d95e41b15aa97b454754c0",
    "google-deepmind/nanodo": "10aefdeed40a63293daf112b91a5538cd24fa3a4",
    "google-research/big_vision": "0127fb6b337ee2a27bf4e54dea79cff176527356",
    "google-research/multinerf": "5b4d4f64608ec8077222c52fdf814d40acc10bc1",
    "google-research/t5x": "cc342d419ec3e3e9c4bf1df33c82330cafdc1e16",
    "google-research/vision_transformer": "c6de1e5378c9831a8477feb30994971bdc409e46",
    "ikostrikov/jaxrl": "4a9abaff1c915b00ca73d35a30faf16b165e52ec",
    "jax-md/jax-md": "a41c7d19f6468f4e5263c32c12c9ed6cba26ebff",
    "jax-ml/bonsai": "36284254cf738d99c1c5d1e3a292d27656a0a365",
    "jenkspt/gpt-jax": "f22a46e81e72fd44c8115f8b63dcfa53eb0a6d14",
    "kingoflolz/mesh-transformer-jax": "f8315e3003033b23f21d78361b288953064e0e76",
    "matthias-wright/flaxmodels": "09bc77215032375d124e3f1eba828dd89c80a850",
}


class Entry(NamedTuple):
    repository: str
    """In `COMMITS`, or a distribution of the environment."""
    model: str
    """`module:qualname` in a profile; `entries:opened` where the init factory makes the callable."""
    root: str = "."
    """Folder of the repository that imports start in."""
    fails: str = ""
    """Why it cannot be traced by anybody, by a part of the message."""


MADE = "entries:opened"
ENTRIES = {
    "vit_jax_mixer": Entry("google-research/vision_transformer", "vit_jax.models_mixer:MlpMixer"),
    "vit_jax_vit": Entry("google-research/vision_transformer", "vit_jax.models_vit:VisionTransformer"),
    "big_vision_vit": Entry("google-research/big_vision", MADE),
    "big_vision_bit": Entry("google-research/big_vision", MADE),
    "t5x_attention": Entry("google-research/t5x", "layers:MultiHeadDotProductAttention", "t5x/examples/t5"),
    "jaxrl_policy": Entry("ikostrikov/jaxrl", "jaxrl.networks.policies:NormalTanhPolicy"),
    "gpt_jax": Entry("jenkspt/gpt-jax", "model:GPT"),
    "nanodo": Entry("google-deepmind/nanodo", "nanodo.model:TransformerDo"),
    "flaxmodels_resnet": Entry("matthias-wright/flaxmodels", "flaxmodels.resnet.resnet:ResNet"),
    "flax_imagenet": Entry("google/flax", "models:ResNet18", "examples/imagenet"),
    "flax_lm1b": Entry("google/flax", "models:TransformerLM", "examples/lm1b"),
    "flax_nlp_seq": Entry("google/flax", "models:Transformer", "examples/nlp_seq"),
    "flax_sst2": Entry("google/flax", "models:TextClassifier", "examples/sst2"),
    "flax_wmt": Entry("google/flax", "models:Transformer", "examples/wmt"),
    "flax_attention": Entry(
        "google/flax",
        "attention_simple:MultiHeadDotProductAttention",
        "examples/linen_design_test",
        fails="the collection is empty",
    ),
    "flax_gemma": Entry("google/flax", "transformer:Transformer", "examples/gemma"),
    "flax_scan_mlp": Entry("google/flax", "06_scan_over_layers:ScanMLP", "examples/nnx_toy_examples"),
    "flax_mlpmixer": Entry("google/flax", "nnx_mlpmixer_training:MlpMixer", "benchmarks", fails="list"),
    "bonsai_mamba2": Entry("jax-ml/bonsai", "bonsai.models.mamba2.modeling:Mamba2ForCausalLM"),
    "bonsai_vit": Entry("jax-ml/bonsai", "bonsai.models.vit.modeling:ViTClassificationModel"),
    "hf_gpt2": Entry("transformers", "transformers.models.gpt2.modeling_flax_gpt2:FlaxGPT2LMHeadModule"),
    "hf_llama": Entry("transformers", "transformers.models.llama.modeling_flax_llama:FlaxLlamaForCausalLMModule"),
    "hf_vit": Entry("transformers", "transformers.models.vit.modeling_flax_vit:FlaxViTModule"),
    "hf_t5": Entry(
        "transformers",
        "transformers.models.t5.modeling_flax_t5:FlaxT5ForConditionalGenerationModule",
        fails="a_max",
    ),
    "multinerf_encoding": Entry("google-research/multinerf", "internal.coord:integrated_pos_enc"),
    "mesh_transformer": Entry(
        "kingoflolz/mesh-transformer-jax", "mesh_transformer.layers:rotate_every_two", fails="with_sharding_constraint"
    ),
    "jax_md": Entry("jax-md/jax-md", MADE),
    "brax_euler": Entry("brax", "brax.math:quat_to_euler"),
    "brax_policy": Entry("brax", MADE),
    "mjx_step": Entry("mujoco-mjx", MADE),
    "mjx_closest": Entry("mujoco-mjx", "mujoco.mjx._src.math:closest_segment_to_segment_points"),
    "equinox_attention": Entry("equinox", MADE),
    "gymnax_step": Entry("gymnax", MADE),
    "pgx_go": Entry("pgx", MADE),
    "haiku_resnet50": Entry("dm-haiku", MADE),
    "tinygp": Entry("tinygp", MADE),
    "optax_ctc": Entry("optax", "optax.losses:ctc_loss"),
    "jax_pallas": Entry("jax", MADE),
}


# --- in the capture Python: the other count --------------------------------------------------------------------------


def count_operations(name: str, model: str) -> None:
    """Print the operations of an entry as plain JAX has them, calls inlined, or the error."""
    import importlib

    sys.path[0] = str(FACTORIES.parent)  # in place of this folder, whose modules have names that others have
    try:
        import entries  # pyright: ignore[reportMissingImports]

        module, _, qualname = model.partition(":")
        target = getattr(importlib.import_module(module), qualname)
        print(json.dumps(ecosystem.count(entries.jaxpr_of(name, target))))
    except Exception as error:  # noqa: BLE001  (it is the answer)
        print(json.dumps(f"{type(error).__name__}: {error}"))


# --- outside ---------------------------------------------------------------------------------------------------------


def fetch(sources: Path, repository: str) -> Path:
    """The folder of a repository at its commit."""
    folder = sources / repository.replace("/", "+")
    if not folder.is_dir():
        making = folder.with_suffix(".part")
        shutil.rmtree(making, ignore_errors=True)
        git = ["git", "-C", str(making)]
        subprocess.run(["git", "init", "--quiet", str(making)], check=True)
        commit = COMMITS[repository]
        subprocess.run([*git, "fetch", "--quiet", "--depth=1", f"https://github.com/{repository}", commit], check=True)
        subprocess.run([*git, "checkout", "--quiet", "FETCH_HEAD"], check=True)
        making.rename(folder)
    return folder


def profile(name: str, entry: Entry, has_model: bool) -> str:
    lines = [f"[profiles.{name}]", 'framework = "jax"', f"model = {json.dumps(entry.model)}"]
    made = f'{{ factory = {{ file = "entries.py", callable = "%s", kwargs = {{ name = "{name}" }} }} }}'
    if has_model:
        lines.append(f"init = {made % 'model_of'}")
    return "\n".join([*lines, f"inputs = {made % 'inputs_of'}", ""])


def modelled(python: Path) -> set[str]:
    """Names of the entries whose model a factory makes."""
    code = "import entries, json; print(json.dumps(sorted(entries.MODELS)))"
    ran = subprocess.run(
        [python, "-B", "-c", code], cwd=FACTORIES.parent, check=True, stdout=subprocess.PIPE, text=True
    )
    return set(json.loads(ran.stdout.splitlines()[-1]))


def expected(python: Path, name: str, entry: Entry, environment: dict[str, str]) -> int | str:
    command = [python, "-B", __file__, "--count", name, entry.model]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return json.loads(ran.stdout.splitlines()[-1]) if ran.returncode == 0 else ran.stderr.splitlines()[-1]


def row(name: str, entry: Entry, capture: dict[str, Any] | str, count: int | str, version: str) -> tuple[str, bool]:
    """A row of the table, and whether it is as it should be."""
    title = entry.model.partition(":")[2] if entry.model != MADE else name
    place = entry.repository if entry.root == "." else f"{entry.repository}, {entry.root}"
    cells = [place if entry.repository in COMMITS else f"{entry.repository} {version}", f"`{title}`"]
    if isinstance(capture, str):
        good = bool(entry.fails) and entry.fails in capture and isinstance(count, str) and entry.fails in count
        cells += ["-", str(count) if isinstance(count, int) else "-", "-", "-", capture.replace("|", "\\|")]
    else:
        found = len(capture["operations"])
        good = found == count
        status = capture["coverage"]["status"]
        notes = ecosystem.notes_of(capture)
        if isinstance(count, str):
            notes = f"not counted: {count}; {notes}"
        cells += [f"{found:,}", f"{count:,}" if isinstance(count, int) else "-", ecosystem.modules_of(capture)]
        cells += [status, notes]
    return "| " + " | ".join(cells).replace("\n", " ") + " |", good


def main() -> int:
    if sys.argv[1:2] == ["--count"]:
        count_operations(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, help="folder of the repositories, each as OWNER+NAME")
    parser.add_argument("--env", type=Path, help="folder of the environment; made where it is not there")
    parser.add_argument("--only", action="append", choices=ENTRIES)
    parser.add_argument("--output", type=Path, help="default: docs/models.md, or nowhere with --only")
    arguments = parser.parse_args()
    import platformdirs

    cache = platformdirs.user_cache_path("tvls")
    python = ecosystem.make_environment((arguments.env or cache / "ecosystem").absolute())
    sources = (arguments.sources or cache / "sources").absolute()
    sources.mkdir(parents=True, exist_ok=True)
    chosen = {name: entry for name, entry in ENTRIES.items() if name in (arguments.only or ENTRIES)}
    distributions = {entry.repository for entry in ENTRIES.values() if entry.repository not in COMMITS}
    installed = ecosystem.versions(python, distributions)
    with_model = modelled(python)
    rows, opened, faults = [], 0, 0
    for name, entry in chosen.items():
        environment = dict(os.environ)
        if entry.repository in COMMITS:
            environment["PYTHONPATH"] = str(fetch(sources, entry.repository) / entry.root)
        with tempfile.TemporaryDirectory() as directory:
            folder = Path(directory).resolve()
            shutil.copy(FACTORIES, folder)
            (folder / "tensorviz.toml").write_text("version = 1\n\n" + profile(name, entry, name in with_model))
            capture = ecosystem.trace(python, folder, name, environment)
        count = expected(python, name, entry, environment)
        text, good = row(name, entry, capture, count, installed.get(entry.repository, ""))
        opened += not isinstance(capture, str)
        faults += not good
        rows.append(text)
        print(text, flush=True)
    output = arguments.output or (None if arguments.only else ROOT / "docs" / "models.md")
    if output is not None:
        output.write_text(document(rows, opened, installed))
    return 1 if faults else 0


def document(rows: list[str], opened: int, installed: dict[str, str]) -> str:
    used = ", ".join(f"{title} {installed[name]}" for name, title in (("jax", "JAX"), ("flax", "Flax")))
    return f"""# Public models, opened

Written by `benchmarks/public_models.py`, with Python {installed["python"]}, {used}: {opened} of {len(rows)} open. Each
model is that of its repository at a commit that the script names, or of the release; its small configuration and its
inputs are in `benchmarks/public_models/entries.py`. *Counted* is a walk over `jax.make_jaxpr` of the same call that
shares no code with the capture; calls are inlined in both. What does not open fails in the same way without the server.

| from | model | operations | counted | module scopes | coverage | notes |
|---|---|---:|---:|---|---|---|
{chr(10).join(rows)}
"""


if __name__ == "__main__":
    sys.exit(main())
