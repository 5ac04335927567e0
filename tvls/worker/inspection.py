"""What an interpreter has: its distributions and who manages them; which frameworks load, and what they offer.

Imports libraries, never a module of the workspace.
"""

from __future__ import annotations

import configparser
import importlib
import importlib.metadata
import os
import sys
import sysconfig
from typing import Any, Callable, Dict, List, Tuple

Say = Callable[[Dict[str, object]], None]

IMPORTED: Dict[str, Tuple[str, ...]] = {"jax": ("numpy", "jaxlib", "jax", "flax"), "torch": ("numpy", "torch")}
"""By framework: modules in the order in which a fault shows at the one that has it."""
OPTIONAL = ("numpy", "flax")
"""Those that may be missing; where JAX misses NumPy it says so itself."""
_CUDA_PLUGINS = ("jax-cuda13-plugin", "jax-cuda12-plugin")
_TORCH_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "float16", "bfloat16", "float32", "float64"),
    *("complex64", "complex128", "float8_e4m3fn", "float8_e5m2"),
)


# --- what is installed -----------------------------------------------------------------------------------------------


def describe_installation() -> Dict[str, object]:
    """Every distribution with its version, where new ones would go, and whether that is allowed."""
    distributions: Dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        metadata: Any = distribution.metadata
        name = metadata["Name"] if metadata is not None else None
        if name:  # the rest of an interrupted installation may have none
            distributions.setdefault(str(name), str(distribution.version))
    purelib = sysconfig.get_paths()["purelib"]
    return {
        "distributions": distributions,
        "purelib": purelib,
        "writable": os.access(_existing(purelib), os.W_OK),
        "managed": _external_manager(),
    }


def _existing(path: str) -> str:
    while not os.path.exists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path


def _external_manager() -> "str | None":
    """What an externally managed Python (PEP 668) says of installing into it; None where it is not one."""
    if sys.prefix != sys.base_prefix:
        return None
    marker = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    if not os.path.isfile(marker):
        return None
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(marker, encoding="utf-8")
        return parser.get("externally-managed", "Error")
    except (OSError, configparser.Error, UnicodeError):  # the marker counts without its text, too
        return ""


# --- what loads ------------------------------------------------------------------------------------------------------


def check(framework: str, say: Say) -> None:
    """Says which module is imported next, so that a crash has a name; then each fault, and what setups can choose."""
    loaded = True
    for module in IMPORTED[framework]:
        say({"importing": module})
        try:
            importlib.import_module(module)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a library may fail in any way
            if isinstance(error, ModuleNotFoundError) and error.name == module:
                loaded = loaded and module in OPTIONAL
                continue
            said = str(error).strip()
            say({"broken": module, "message": f"{type(error).__name__}: {said}" if said else type(error).__name__})
            loaded = loaded and framework == "torch" and module == "numpy"  # Torch does without it, JAX does not
    if not loaded:
        return
    say({"importing": framework})
    offer = _jax_offer() if framework == "jax" else _torch_offer()
    say({"offer": offer})


def _choice(value: str, reason: "str | None" = None) -> Dict[str, object]:
    return {"value": value} if reason is None else {"value": value, "reason": reason}


def _jax_offer() -> Dict[str, object]:
    from tvls.worker.frameworks.jax import dtypes
    from tvls.worker.frameworks.jax import libraries as lib

    lib.load()
    wide = bool(lib.jax.config.jax_enable_x64)
    narrow = f"JAX would narrow it: set JAX_ENABLE_X64=1 {dtypes.ENVIRONMENT}"
    offered = [_choice(name, narrow if name in dtypes.WIDE and not wide else None) for name in dtypes.all_dtypes()]
    allowed = [part for part in str(lib.jax.config.jax_platforms or "").split(",") if part]
    only = f"JAX_PLATFORMS allows JAX only {', '.join(allowed)}"
    devices = [_choice("cpu", only if allowed and "cpu" not in allowed else None)]
    if allowed and not {"cuda", "gpu"} & set(allowed):
        devices.append(_choice("cuda:0", only))
    else:
        devices += _jax_cuda(lib.jax)
    return {"devices": devices, "dtypes": offered, "wide": wide}


def _jax_cuda(jax: Any) -> List[Dict[str, object]]:
    plugin = next((name for name in _CUDA_PLUGINS if _installed(name)), None)
    if plugin is None:
        need = "the CUDA build of jaxlib is not installed (jax[cuda13] or jax[cuda12])"
        return [_choice("cuda:0", need)]
    try:
        found = jax.devices("cuda")
    except RuntimeError as error:
        return [_choice("cuda:0", f"{plugin} is installed, but finds no GPU: {str(error).strip().splitlines()[0]}")]
    return [_choice(f"cuda:{index}") for index in range(len(found))]


def _torch_offer() -> Dict[str, object]:
    torch: Any = sys.modules["torch"]
    devices = [_choice("cpu")]
    if torch.version.cuda is None:
        devices.append(_choice("cuda:0", f"torch {torch.__version__} is built without CUDA"))
    elif not torch.cuda.is_available():
        devices.append(_choice("cuda:0", f"torch is built for CUDA {torch.version.cuda}, but finds no GPU"))
    else:
        devices += [_choice(f"cuda:{index}") for index in range(torch.cuda.device_count())]
    dtypes = [_choice(name) for name in _TORCH_DTYPES if hasattr(torch, name)]
    return {"devices": devices, "dtypes": dtypes, "wide": True}


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
