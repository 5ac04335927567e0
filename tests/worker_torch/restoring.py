"""Runs in a Python with PyTorch: traces the request of standard input in this process, and prints what is shared with
others before and after.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(os.path.dirname(HERE)), HERE]

import torch  # noqa: E402
import unusual  # noqa: E402

from tvls.worker import trace  # noqa: E402


def state() -> dict[str, Any]:
    return {
        "training": [module.training for module in unusual.kept.modules()],
        "dtype": str(torch.get_default_dtype()),
        "gradients": torch.is_grad_enabled(),
        "random": torch.get_rng_state().tolist(),
        "python random": list(random.getstate()[1][:8]),
        "hooks of all modules": len(torch.nn.modules.module._global_forward_hooks),
        "call": f"{torch.nn.Module.__call__.__module__}.{torch.nn.Module.__call__.__qualname__}",
        "start": f"{threading.Thread.start.__module__}.{threading.Thread.start.__qualname__}",
        "modes": torch._C._len_torch_function_stack() + torch._C._len_torch_dispatch_stack(),
    }


def main() -> None:
    request: dict[str, Any] = json.load(sys.stdin)
    unusual.kept.drop.eval()
    random.seed(request["setup"]["seed"])  # as the trace does before anything of the framework
    before = state()
    document = json.loads(trace.run(request, lambda phase: None))
    print(json.dumps({"before": before, "after": state(), "failed": "failure" in document}))


if __name__ == "__main__":
    main()
