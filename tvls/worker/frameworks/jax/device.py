"""The device of a capture. It is checked before the model is imported, and nothing takes its place."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import Any, Generator, List

from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.job import SetupFault


def scope(name: str) -> Any:
    """A context with the named device, `cpu` or `cuda:N`, as JAX's default. Raises SetupFault where it is not there.

    `cpu` initialises no backend; an array that a factory places explicitly stays where it is.
    """
    if name == "cpu":
        allowed = [part for part in str(lib.jax.config.jax_platforms or "").split(",") if part]
        if allowed and "cpu" not in allowed:
            message = f"the capture environment allows JAX only {', '.join(allowed)} (JAX_PLATFORMS), not cpu"
            raise SetupFault("device", message, "device")
        return _default("cpu")
    numbered = re.fullmatch(r"cuda:(\d+)", name)
    if numbered is None:
        raise SetupFault("device", f"a device is cpu or cuda:N, not {name!r}", "device")
    devices = _cuda_devices(name)
    index = int(numbered.group(1))
    if index >= len(devices):
        has = f"it has {len(devices)}, counted from 0"
        raise SetupFault("device", f"{name} is not among the CUDA devices of JAX: {has}", "device")
    return _default(devices[index])


def _cuda_devices(name: str) -> List[Any]:
    try:
        return list(lib.jax.devices("cuda"))
    except RuntimeError as error:
        message = f"{name} is not available: JAX in the capture environment has no CUDA backend ({error})"
        raise SetupFault("device", message, "device") from error


@contextmanager
def _default(device: Any) -> Generator[None, None, None]:
    with lib.jax.default_device(device):
        yield
