"""Opens public PyTorch models through `tvls trace`, and writes what came of it to docs/pytorch_models.md.

The libraries of requirements/torch-models.txt are installed into an environment of their own, below the user's cache
folder or where `--env` says; the models are those of benchmarks/torch_models. What a capture says is checked against a
run that shares no code with it: which modules are called, and how often, by forward hooks; the parameters, by identity.
Ends with 1 where something does not open or the two differ.

Usage: python benchmarks/torch_models.py [--env FOLDER] [--only PROFILE]... [--output FILE]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MODELS = HERE / "torch_models"
REQUIREMENTS = ROOT / "requirements" / "torch-models.txt"

ENTRIES = {
    "resnet50": ("torchvision", "ResNet-50"),
    "vit_b_16": ("torchvision", "ViT-B/16"),
    "faster_rcnn": ("torchvision", "Faster R-CNN, ResNet-50 with FPN; a list of one image"),
    "raft": ("torchvision", "RAFT, three updates"),
    "quantised": ("torchvision", "ResNet-18, quantised"),
    "convnext": ("timm", "ConvNeXt-T"),
    "efficientnet": ("timm", "EfficientNet-B0"),
    "swin": ("timm", "Swin-T"),
    "bert": ("transformers", "BERT, four layers"),
    "gpt2": ("transformers", "GPT-2, four layers, tied head"),
    "llama": ("transformers", "Llama, four layers, grouped queries"),
    "t5": ("transformers", "T5, two layers each way, keyword arguments"),
    "clip": ("transformers", "CLIP, two layers each"),
    "whisper": ("transformers", "Whisper, two layers each way"),
    "mixtral": ("transformers", "Mixtral, two layers, four experts"),
    "mamba": ("transformers", "Mamba, two layers"),
    "lora": ("peft", "BERT with LoRA, two layers"),
    "diffusion_unet": ("diffusers", "`UNet2DConditionModel`, two levels"),
    "autoencoder": ("diffusers", "`AutoencoderKL`, two levels"),
    "segmentation_unet": ("segmentation-models-pytorch", "U-Net on ResNet-18"),
    "graph_attention": ("torch-geometric", "GATv2, two layers"),
    "vit": ("vit-pytorch", "`ViT`"),
    "simple_vit": ("vit-pytorch", "`SimpleViT`"),
    "cait": ("vit-pytorch", "`CaiT`"),
    "t2t": ("vit-pytorch", "`T2TViT`"),
    "max_vit": ("vit-pytorch", "`MaxViT`"),
    "na_vit": ("vit-pytorch", "`NaViT`, images of three sizes in two sequences"),
    "nanogpt": ("torch", "a GPT in one file, with its loss"),
    "unet": ("torch", "a U-Net"),
    "lstm": ("torch", "a tagger: packed sequences, two bidirectional LSTM layers"),
    "gan": ("torch", "generator and discriminator of a GAN, spectral norm, a lazy layer"),
}
"""By profile of torch_models/tensorviz.toml: the distribution, and what is opened."""


# --- in the capture Python: the other count --------------------------------------------------------------------------


def reference(profile: dict[str, Any]) -> dict[str, Any]:
    """Calls of modules in which an operator ran, by path; the parameters; seconds of the bare and the watched call."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    torch.set_num_threads(1)
    model, args, kwargs = _made(profile)
    model.eval()
    paths = {module: path for path, module in model.named_modules()}
    calls: Counter[str] = Counter()
    around: list[list[Any]] = []

    class Operators(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            for call in around:
                call[1] = True
            return func(*args, **(kwargs or {}))

    def enter(module: Any, _: Any) -> None:
        around.append([module, False])

    def leave(module: Any, *_: Any) -> None:
        called, ran = around.pop()
        assert called is module
        if ran and module in paths:
            calls[paths[module]] += 1

    with torch.no_grad():
        model(*args, **kwargs)  # a lazy model gets its parameters
        bare = min(_timed(lambda: model(*args, **kwargs)) for _ in range(3))
        hooks = [torch.nn.modules.module.register_module_forward_pre_hook(enter)]
        hooks += [torch.nn.modules.module.register_module_forward_hook(leave, always_call=True)]
        with Operators():
            model(*args, **kwargs)
    parameters = {id(parameter): parameter.numel() for parameter in model.parameters()}
    return {"calls": calls, "parameters": sum(parameters.values()), "bare": bare}


def _timed(call: Any) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def watched(profile: dict[str, Any], folder: str) -> float:
    """Seconds of the processor for the call while it is recorded, by the worker's own phases."""
    sys.path.insert(0, str(ROOT))
    import torch

    from tvls.worker import trace, zygote

    torch.set_num_threads(1)
    zygote.warm_up("torch")
    module, _, qualname = profile["model"].partition(":")
    request = {
        "workspace": folder,
        "sysPath": [folder],
        "target": {"kind": "torch.module", "module": module, "qualname": qualname},
        "setup": {"digest": "", "framework": "torch", "mode": "eval", "device": "cpu", "seed": 0, **_calls(profile)},
        "limits": {},
    }
    best = float("inf")
    for _ in range(2):
        phases: list[tuple[str, float]] = []
        data = trace.run(request, lambda phase, phases=phases: phases.append((phase, time.process_time())))
        assert b'"failure"' not in data[:4000]
        started = dict(phases)
        best = min(best, started["encode"] - started["trace"])
    return best


def _calls(profile: dict[str, Any]) -> dict[str, Any]:
    inputs = profile["inputs"]
    if "factory" not in inputs:
        inputs = {"args": inputs.get("args", []), "kwargs": inputs.get("kwargs", {})}
    else:
        inputs = {"factory": {"kwargs": {}, **inputs["factory"]}}
    return {"init": {"args": [], "kwargs": {}}, "inputs": inputs}


def _made(profile: dict[str, Any]) -> tuple[Any, list[Any], dict[str, Any]]:
    import torch

    torch.manual_seed(0)
    module, _, name = profile["model"].partition(":")
    model = getattr(importlib.import_module(module), name)()
    inputs = profile["inputs"]
    if "factory" in inputs:
        made = getattr(importlib.import_module(module), inputs["factory"]["callable"])()
        return model, list(made["args"]), dict(made["kwargs"])

    def tensor(item: dict[str, Any]) -> Any:
        generator = item["generator"]
        if generator["kind"] == "randint":
            return torch.randint(generator["low"], generator["high"], item["shape"])
        if generator["kind"] == "arange":
            return generator["start"] + generator["step"] * torch.arange(item["shape"][0])
        return torch.randn(item["shape"])

    args = [tensor(item) for item in inputs.get("args", [])]
    return model, args, {name: tensor(item) for name, item in inputs.get("kwargs", {}).items()}


def count_one(profile: dict[str, Any]) -> None:
    sys.path.insert(0, os.getcwd())
    found = reference(profile)
    print("\n" + json.dumps(found | {"watched": watched(profile, os.getcwd())}))


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


def versions(python: Path) -> dict[str, str]:
    names = sorted({distribution for distribution, _ in ENTRIES.values()})
    code = "import importlib.metadata as m, json, platform, sys; "
    code += "print(json.dumps({n: m.version(n) for n in sys.argv[1:]} | {'python': platform.python_version()}))"
    ran = subprocess.run([python, "-c", code, *names], check=True, capture_output=True, text=True)
    return json.loads(ran.stdout)


def trace(python: Path, folder: Path, profile: str) -> dict[str, Any] | str:
    """The capture, or why there is none."""
    command = [sys.executable, "-m", "tvls", "trace", "--trust", "--python", str(python), "--folder", str(folder)]
    command += ["--profile", profile, "--json", "--limit", "seconds=600"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        answer = json.loads(ran.stdout)
    except json.JSONDecodeError:
        return (ran.stderr.strip() or f"exit code {ran.returncode}").splitlines()[-1]
    return answer if "operations" in answer else f"does not open: {answer['error']['message']}"


def differences(capture: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    found: list[str] = []
    calls = Counter(scope["path"] for scope in capture["scopes"] if "path" in scope)
    missed = {path: count for path, count in expected["calls"].items() if calls[path] != count}
    if missed:
        first = next(iter(missed.items()))
        found.append(f"**{len(missed)} modules are called otherwise, first {first[0]!r}: {first[1]} times**")
    if parameters_of(capture) != expected["parameters"]:
        found.append(f"**{expected['parameters']:,} parameters by `parameters()`**")
    return found


def parameters_of(capture: dict[str, Any]) -> int:
    total = 0
    for value in capture["values"]:
        if value["role"] == "state" and value.get("collection") == "parameters":
            size = 1
            for dim in value["shape"]:
                size *= dim
            total += size
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, help="folder of the environment; made where it is not there")
    parser.add_argument("--only", action="append", choices=ENTRIES)
    parser.add_argument("--output", type=Path, help="default: docs/pytorch_models.md, or nowhere with --only")
    parser.add_argument("--count", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.count:
        count_one(json.load(sys.stdin))
        return 0
    import platformdirs

    python = make_environment((arguments.env or platformdirs.user_cache_path("tvls") / "torch-models").absolute())
    installed = versions(python)
    profiles = tomllib.loads((MODELS / "tensorviz.toml").read_text())["profiles"]
    rows, faults = [], 0
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(shutil.copytree(MODELS, Path(directory).resolve() / "models"))
        for name in (name for name in ENTRIES if name in (arguments.only or ENTRIES)):
            row, sound = _row(python, folder, name, profiles[name], installed)
            faults += not sound
            rows.append(row)
            print(row, flush=True)
    output = arguments.output or (None if arguments.only else ROOT / "docs" / "pytorch_models.md")
    if output is not None:
        output.write_text(document(rows, installed))
    return 1 if faults else 0


def _row(python: Path, folder: Path, name: str, profile: dict[str, Any], installed: dict[str, str]) -> tuple[str, bool]:
    """A row of the table, and whether all in it is as it should be."""
    distribution, opened = ENTRIES[name]
    capture = trace(python, folder, name)
    cells = [f"{distribution} {installed[distribution]}", opened]
    if isinstance(capture, str):
        return "| " + " | ".join([*cells, "-", "-", "-", "-", "-", capture.replace("|", "\\|")]) + " |", False
    ran = subprocess.run(
        [python, "-B", __file__, "--count"], input=json.dumps(profile), cwd=folder, check=False, text=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    if ran.returncode:
        return "| " + " | ".join([*cells, "-", "-", "-", "-", "-", "the bare run failed"]) + " |", False
    expected = json.loads(ran.stdout.splitlines()[-1])
    faults = differences(capture, expected)
    below = sum(len(body["operations"]) for body in capture["bodies"])
    scopes = sum(scope["kind"] == "module" for scope in capture["scopes"])
    ratio = expected["watched"] / expected["bare"]
    cells += [f"{len(capture['operations']):,}", f"{below:,}", f"{scopes:,}", f"{parameters_of(capture):,}"]
    notes = [note for note in capture["setup"]["notes"] if note != "freshly_initialised"]
    cells += [f"{ratio:.1f}", "; ".join([*faults, *notes])]
    return "| " + " | ".join(cells) + " |", not faults


def document(rows: list[str], installed: dict[str, str]) -> str:
    return f"""# Public PyTorch models, opened

Written by `benchmarks/torch_models.py`, with Python {installed["python"]} and PyTorch {installed["torch"]} on a CPU.
Each model is in `benchmarks/torch_models/` and was opened by its profile there, by `tvls trace`; weights are fresh.
Operations are calls of PyTorch's functions; below them are different bodies of `aten` operators. Which modules are
called, how often, and how many parameters there are agrees with a run that shares no code with the capture, or the
notes say where not. *Time* is the processor's for the call while it is recorded, as a ratio to the bare eager call.

| library | opened | operations | aten, in bodies | module calls | parameters | time | notes |
|---|---|---:|---:|---:|---:|---:|---|
{chr(10).join(rows)}
"""


if __name__ == "__main__":
    sys.exit(main())
