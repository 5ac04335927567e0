"""The device of a capture. It is checked before the model is imported, and nothing takes its place."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import Any, Generator

from tvls.worker.frameworks.torch import libraries as lib
from tvls.worker.job import SetupFault


@contextmanager
def scope(name: str) -> Generator[None, None, None]:
    """`cpu` or `cuda:N` as the device that new tensors are made on. Raises SetupFault where it is not there.

    A tensor that the program places explicitly stays where it is.
    """
    if name != "cpu":
        _require(name)
    with lib.torch.device(name):
        yield


def _require(name: str) -> None:
    numbered = re.fullmatch(r"cuda:(\d+)", name)
    if numbered is None:
        raise SetupFault("device", f"a device is cpu or cuda:N, not {name!r}", "device")
    cuda: Any = lib.torch.cuda
    if not cuda.is_available():
        built = lib.torch.version.cuda
        why = "this build of PyTorch has no CUDA" if built is None else "PyTorch finds no CUDA device"
        raise SetupFault("device", f"{name} is not available: {why}", "device")
    if int(numbered.group(1)) >= cuda.device_count():
        has = f"there are {cuda.device_count()}, counted from 0"
        raise SetupFault("device", f"{name} is not among the CUDA devices of PyTorch: {has}", "device")
