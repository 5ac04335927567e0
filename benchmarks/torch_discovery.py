"""Whether reading finds the same modules as importing does, in timm, torchvision, vit-pytorch, einops and transformers.

Usage: python benchmarks/torch_discovery.py PYTHON, the one of benchmarks/torch_models.py. Ends with 1 where a class is
missed, or found and none.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

PACKAGES = ("timm", "torchvision", "vit_pytorch", "einops", "transformers")

IMPORTED = """
import importlib, inspect, json, os, pkgutil, sys, torch
package = importlib.import_module(sys.argv[1])
names = [sys.argv[1], *(m.name for m in pkgutil.walk_packages(package.__path__, sys.argv[1] + ".", lambda name: None))]
read, found = [], []
for name in names:
    try:
        module = importlib.import_module(name)
    except BaseException:  # needs what is not installed
        continue
    read.append(name)
    for key, value in vars(module).items():
        if inspect.isclass(value) and issubclass(value, torch.nn.Module):
            if (value.__module__, value.__qualname__) == (name, key):
                found.append(f"{name}:{key}")
print("\\n" + json.dumps({"folder": os.path.dirname(package.__file__), "read": read, "found": found}))
"""


def imported(python: str, package: str) -> dict[str, Any]:
    """Modules that can be imported, and `module:Class` of the module classes that they define."""
    ran = subprocess.run(
        [python, "-W", "ignore", "-c", IMPORTED, package], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(ran.stdout.splitlines()[-1])


def discovered(folder: str, package: str) -> set[str]:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory).resolve()
        copytree(folder, root / package, ignore=ignore_patterns("*.so", "__pycache__"))
        command = [sys.executable, "-m", "tvls", "discover", str(root), "--json"]
        ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=root)
    found: set[str] = set()
    for target in json.loads(ran.stdout):
        path = target["path"].removeprefix(f"{root}/").removesuffix(".py").removesuffix("/__init__")
        if target["kind"] == "torch.module":
            found.add(f"{path.replace('/', '.')}:{target['name']}")
    return found


def main() -> int:
    faults = 0
    for package in PACKAGES:
        truth = imported(sys.argv[1], package)
        found = {name for name in discovered(truth["folder"], package) if name.partition(":")[0] in truth["read"]}
        known = set(truth["found"])
        missed = known - found
        wrong = {name for name in found - known if "." not in name.partition(":")[2]}  # not those inside functions
        counts = f"{len(known):4} classes by import, {len(missed)} missed, {len(wrong)} wrong"
        print(f"{package:12} {counts}", *sorted(missed | wrong))
        faults += len(missed) + len(wrong)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
