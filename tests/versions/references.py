"""Runs in an environment under test: what plain JAX makes of the cases, each in a fork of its own.

`references.py OUT` writes `{name: {"program", "streams", "state"}}`.
"""

from __future__ import annotations

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "worker_jax"))

import cases
import runner

from tvls.worker import trace


def main() -> None:
    trace.load_framework("jax")  # before the forks, which share what it imports

    results = {
        name: json.loads(runner.in_fork(lambda case=case: runner.reference(case))) for name, case in cases.CASES.items()
    }
    with open(sys.argv[1], "w") as stream:
        json.dump(results, stream)


if __name__ == "__main__":
    main()
