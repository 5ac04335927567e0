"""Runs in the models' interpreter: answers trace requests, each in a fork of its own, as the warm worker does.

Standard input is `{"requests": {name: request}}`; standard output `{name: document}`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(os.path.dirname(HERE)), HERE]

from runner import in_fork  # noqa: E402

from tvls.worker import trace  # noqa: E402


def main() -> None:
    requests: dict[str, dict[str, Any]] = json.load(sys.stdin)["requests"]
    for framework in {request["setup"]["framework"] for request in requests.values()}:
        trace.load_framework(framework)
    answers: dict[str, Any] = {}
    for name, request in requests.items():

        def answer(request: dict[str, Any] = request) -> bytes:
            trace.prepare_imports(request["workspace"], request["sysPath"])
            return trace.run(request, lambda phase: None)

        answers[name] = json.loads(in_fork(answer))
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    main()
