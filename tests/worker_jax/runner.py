"""Runs in the models' interpreter: captures cases with the real worker code, and reads the same models with plain JAX.

`runner.py OUT NAME…` writes `{name: {"document", "backends", "reference"}}`. Every capture and every reference has a
process of its own, forked after the imports, as the warm worker does it.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "models")
sys.path[:0] = [HERE, os.path.dirname(os.path.dirname(HERE))]

import cases  # noqa: E402
import checker  # noqa: E402
import failing_cases  # noqa: E402
import form_cases  # noqa: E402

from tvls.worker import trace  # noqa: E402


def in_fork(work: Callable[[], bytes]) -> bytes:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            data = work()
        except BaseException:  # noqa: BLE001
            data = json.dumps({"crash": traceback.format_exc()}).encode()
        with os.fdopen(write, "wb") as stream:
            stream.write(data)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        data = stream.read()
    os.waitpid(pid, 0)
    return data


def capture(case: cases.Case, limits: dict[str, Any], device: str) -> bytes:
    target = {
        "kind": case.kind,
        "module": case.module,
        "qualname": case.qualname,
        "path": f"{case.module}.py",
        "line": 1,
    }
    request = {"workspace": MODELS, "sysPath": [MODELS], "target": target, "setup": {**case.setup, "device": device}}
    os.chdir(MODELS)
    sys.path.insert(0, MODELS)
    document = json.loads(trace.run({**request, "limits": limits}, lambda phase: None))
    return json.dumps({"document": document, "backends": backends()}).encode()


def backends() -> list[str]:
    """JAX backends that this process has initialised."""
    from jax._src import xla_bridge

    return sorted(xla_bridge._backends)


def reference(case: cases.Case) -> bytes:
    import jax
    import numpy as np
    from flax import nnx

    sys.path.insert(0, MODELS)
    module = importlib.import_module(case.module)
    target = getattr(module, case.qualname)
    args, kwargs = arguments(case, module)

    def is_array(leaf: Any) -> bool:
        return isinstance(leaf, (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct))

    def is_object(leaf: Any) -> bool:
        return isinstance(leaf, (nnx.Module, nnx.Optimizer))

    def split(tree: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
        flat, treedef = jax.tree_util.tree_flatten(tree)

        def merge(arrays: list[Any]) -> Any:
            queue = list(arrays)
            return jax.tree_util.tree_unflatten(treedef, [queue.pop(0) if is_array(leaf) else leaf for leaf in flat])

        return [leaf for leaf in flat if is_array(leaf)], merge

    objects: list[Any] = []
    streams: list[str] = []
    state: Any = []
    if case.kind == "flax.linen":
        model = from_factory(case.init["factory"]) if "factory" in case.init else build(target, case)
        given, merge = split((args, kwargs))
        streams = sorted(case.streams)
        key = jax.eval_shape(lambda: jax.random.key(0))
        keys = dict.fromkeys(streams, key)
        if model.scope is not None:
            model, state = model.unbind()
        else:

            def init(keys: Any, *arrays: Any) -> Any:
                args, kwargs = merge(list(arrays))
                return type(model).__mro__[1].init(model, keys, *args, **kwargs)

            state = jax.eval_shape(init, {**keys, "params": key}, *given)

        def call(state: Any, keys: Any, *arrays: Any) -> Any:
            args, kwargs = merge(list(arrays))
            return model.apply(state, *args, rngs=keys, mutable=list(case.mutable) or False, **kwargs)

        example = (state, keys, *given)
    else:
        if case.kind == "flax.nnx":
            model = from_factory(case.init["factory"]) if "factory" in case.init else build(target, case)
            if "factory" not in case.init:
                model.eval()
            objects = [model]
            target = "object"
        elif "factory" in case.init:
            target = from_factory(case.init["factory"])
            if case.module == "nnx_models":
                objects = [target.args[0] if hasattr(target, "args") else target.__self__]
                target = module.apply_model if hasattr(target, "args") else type(objects[0]).embed
        objects += [arg for arg in args if is_object(arg)]
        args = [arg for arg in args if not is_object(arg)]
        given, merge = split((args, kwargs))
        graphdef, state = nnx.split(objects) if objects else (None, [])

        def call(state: Any, *arrays: Any) -> Any:
            args, kwargs = merge(list(arrays))
            merged = nnx.merge(graphdef, state) if objects else []
            if target == "object":
                return merged[0](*args, **kwargs)
            return target(*merged, *args, **kwargs)

        example = (state, *given)

    def arrays_of(*operands: Any) -> list[Any]:
        return [leaf for leaf in found(call(*operands)) if is_array(leaf)]

    def found(tree: Any) -> list[Any]:
        flat = jax.tree_util.tree_leaves(tree)
        return [leaf for item in flat for leaf in (found(vars(item)) if type(item).__name__ == "Report" else [item])]

    program = checker.program_of_jaxpr(jax.make_jaxpr(arrays_of)(*example))
    names = [checker.describe_aval(leaf) for leaf in jax.tree_util.tree_leaves(state)]
    return json.dumps({"program": program, "streams": streams, "state": names}).encode()


def build(target: Any, case: cases.Case) -> Any:
    from flax import nnx

    args, kwargs = case.init.get("args", []), case.init.get("kwargs", {})
    if case.kind == "flax.linen":
        return target(*args, **kwargs)
    return target(*args, **kwargs, rngs=nnx.Rngs(0))


def arguments(case: cases.Case, module: Any) -> tuple[list[Any], dict[str, Any]]:
    if "factory" in case.inputs:
        made = from_factory(case.inputs["factory"])
        if set(made) == {"args", "kwargs"}:
            return list(made["args"]), dict(made["kwargs"])
        if case.qualname == "positional_only":
            return [made["a"], made["b"]], {"c": made["c"]}
        return [], made
    return [value(item) for item in case.args], {name: value(item) for name, item in case.kwargs.items()}


def from_factory(spec: dict[str, Any]) -> Any:
    return getattr(importlib.import_module(spec["file"][:-3]), spec["callable"])(**spec["kwargs"])


def value(item: Any) -> Any:
    import jax

    if isinstance(item, list):
        return [value(part) for part in item]
    if not isinstance(item, dict):
        return item
    if item.get("kind") == "tuple":
        return tuple(value(part) for part in item["items"])
    if item.get("kind") != "tensor":
        return {name: value(part) for name, part in item.items()}
    dtype: Any = item["dtype"]
    if dtype.startswith("key<"):
        name = {"key<fry>": "threefry2x32", "key<rbg>": "rbg"}[dtype]
        dtype = jax.eval_shape(lambda: jax.random.key(0, impl=name)).dtype
    return jax.ShapeDtypeStruct(tuple(item["shape"]), dtype)


def main() -> None:
    out, names = sys.argv[1], sys.argv[2:] or [*cases.CASES, *cases.FAULTS]
    trace.load_framework("jax")
    results: dict[str, Any] = {}
    for name in names:
        fault = cases.FAULTS.get(name) or failing_cases.FAILING.get(name)
        if name in form_cases.FORMS:  # without a reference: the catalogue compares such programs
            form = form_cases.FORMS[name]
            results[name] = json.loads(in_fork(lambda case=form: capture(case, {}, "cpu")))
            continue
        if fault is not None:
            results[name] = json.loads(in_fork(lambda at=fault: capture(at.case, at.limits, at.device)))
            continue
        case = cases.CASES[name]
        results[name] = json.loads(in_fork(lambda case=case: capture(case, {}, "cpu")))
        results[name]["reference"] = json.loads(in_fork(lambda case=case: reference(case)))
    with open(out, "w") as stream:
        json.dump(results, stream)


if __name__ == "__main__":
    main()
