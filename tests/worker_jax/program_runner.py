"""Captures the programs of programs.py in one process and compares each with plain JAX's jaxpr.

`program_runner.py OUT check` writes `{"unknown", "programs": {name: {"digest", "primitives", "fault", "refused"}}}`.
With `digest` in place of `check` nothing is compared. Further arguments name the programs to take.
"""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from contextlib import nullcontext
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(os.path.dirname(HERE))]

from tvls.capture.encoding import canonical_json, digest  # noqa: E402
from tvls.capture.limits import Limits  # noqa: E402
from tvls.worker import trace  # noqa: E402
from tvls.worker.frames import FrameTable  # noqa: E402
from tvls.worker.job import Job  # noqa: E402


def captured(call: Any, args: Any) -> dict[str, Any]:
    frames = FrameTable(HERE)
    job = Job(
        target=call,
        kind="jax.function",
        name="program",
        setup={"init": {}, "inputs": {"factory": {}}, "seed": 0, "mode": "eval"},
        limits=Limits(),
        frames=frames,
        load_factory=lambda spec: {"args": args, "kwargs": {}},
        find_class=lambda name, key: object,
        phase=lambda name: nullcontext(),
    )
    document = trace.load_framework("jax").adapter.capture(job)
    document["frames"] = frames.table()
    return json.loads(canonical_json(document))


def compared(document: dict[str, Any], call: Any, args: Any, numbered: bool) -> None:
    import checker
    import jax
    import param_checker

    def arrays_of(*args: Any) -> list[Any]:
        return [leaf for leaf in jax.tree_util.tree_leaves(call(*args)) if isinstance(leaf, jax.Array)]

    closed = jax.make_jaxpr(arrays_of)(*args)
    checker.assert_sound(document)
    ours, theirs = checker.program_of_document(document, []), checker.program_of_jaxpr(closed)
    if numbered:
        ours, theirs = (
            json.loads(re.sub(r'\["lit", "-?\d+"', '["lit", "n"', json.dumps(side))) for side in (ours, theirs)
        )
    checker.assert_equal_programs(ours, theirs)
    param_checker.assert_equal_params(document, closed.jaxpr)


def main() -> None:
    out, what = sys.argv[1:3]
    trace.load_framework("jax")
    import programs

    found, unknown = programs.catalogue()
    chosen = sys.argv[3:]
    results: dict[str, Any] = {}
    for name, build in found.items():
        if chosen and name not in chosen:
            continue
        result: dict[str, Any] = results.setdefault(name, {})
        try:
            call, args = build()
            import jax

            try:
                jax.eval_shape(lambda *args, call=call: (call(*args), None)[1], *args)
            except Exception:  # noqa: BLE001 - JAX itself refuses the program
                result["refused"] = traceback.format_exc(limit=-4)
                continue
            document = captured(call, args)
            result["digest"] = digest(canonical_json(document))
            result["primitives"] = sorted({operation["primitive"] for operation in document["operations"]})
            if what == "check":
                compared(document, call, args, name in programs.NUMBERED)
        except BaseException:  # noqa: BLE001
            result["fault"] = traceback.format_exc()
    with open(out, "w") as stream:
        json.dump({"unknown": unknown, "programs": results}, stream)


if __name__ == "__main__":
    main()
