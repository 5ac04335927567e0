"""PyTorch: one eager forward in evaluation mode, without gradients, as a capture."""

from __future__ import annotations

import gc
import os
from contextlib import AbstractContextManager
from typing import Any, Dict, FrozenSet, List, Optional, Tuple

from tvls.worker import calls
from tvls.worker.frameworks.torch import device, libraries, model, tensors
from tvls.worker.frameworks.torch.encode import static
from tvls.worker.frameworks.torch.failures import MACHINERY, explain, mark_shapes_alone
from tvls.worker.frameworks.torch.measurements import Measurements
from tvls.worker.frameworks.torch.recorder import Recorder
from tvls.worker.frameworks.torch.trees import outline
from tvls.worker.frameworks.torch.weight import TooLarge, budget, weighed
from tvls.worker.job import Job
from tvls.worker.lazy import computed

__all__ = ["MACHINERY", "capture", "describe", "device_scope", "explain", "kind_of", "preload", "versions"]


def preload() -> None:
    """Import PyTorch. A compiled model runs as it was written: what a compiler makes of it is no program to read."""
    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
    libraries.load()


def versions() -> Dict[str, str]:
    """Versions of Python, PyTorch, and the libraries of models that are loaded."""
    return libraries.versions()


def device_scope(device_name: str) -> AbstractContextManager[None]:
    """The default device for everything in the context. Raises SetupFault (`device`) where it is not there."""
    return device.scope(device_name)


def describe(value: object) -> Optional[Tuple[List[int], str]]:
    """Shape and dtype of a tensor; None for anything else."""
    return tensors.describe(value)


def kind_of(target: object, owner: object = None) -> str:
    """There is one kind: what is no module makes one, or fails."""
    return "torch.module"


def capture(job: Job) -> Dict[str, Any]:
    """Run the target once and return the framework's part of the document, with `static` and `notes` for its setup
    record. A model that is too large to be held runs on the meta device, and says so.

    Raises SetupFault, LimitExceeded, or whatever the user's code raises.
    """
    allowed, seed = budget(job.limits), int(job.setup.get("seed", 0))
    try:
        return _held(job, seed, allowed // _SOON)
    except TooLarge:
        gc.collect()
    size = _size(job, seed)  # in an instant; to fill memory with numbers until it is too much takes a minute
    if size is None or size <= allowed:
        try:
            return _held(job, seed, allowed)
        except TooLarge:
            gc.collect()
    with model.seeded(seed), libraries.torch.device("meta"):
        with job.phase("init"):
            built = model.build(job)
        try:
            return _run(job, *built, "meta")
        except Exception as fault:
            mark_shapes_alone(fault)
            raise


_SOON = 8
"""A model that needs more than this part of what is allowed is weighed before it is made."""


def _held(job: Job, seed: int, allowed: int) -> Dict[str, Any]:
    with model.seeded(seed):
        with job.phase("init"), weighed(allowed):
            built = model.build(job)
        return _run(job, *built, str(job.setup.get("device", "cpu")))


def _size(job: Job, seed: int) -> Optional[int]:
    """Bytes of the parameters and buffers of the model, which is made without them; None where it cannot be made so."""
    try:
        with model.seeded(seed), libraries.torch.device("meta"), job.phase("init"):
            built, _ = model.build(job)
        module = libraries.torch.nn.Module
        return sum(int(tensor.nbytes) for tensor in (*module.parameters(built), *module.buffers(built)))
    except Exception:  # noqa: BLE001  (a constructor that reads values; what else is wrong shows when it is made)
        return None


def _run(job: Job, root: Any, fresh: bool, device_name: str) -> Dict[str, Any]:
    notes = ["freshly_initialised"] if fresh else []
    with job.phase("inputs"):
        signature = model.signature_of(job, root)
        given = model.read_inputs(job, signature)
    called = model.called(job, root)
    if device_name != "meta":
        with job.phase("init"):
            root.to(device_name)
    measurements = Measurements(_wanted(job))
    with job.phase("trace"), model.restored(root):
        if model.uninitialised(root):
            notes.append("lazily_initialised")
            computed(called(*given.args, **given.kwargs), job.limits)
        recorder = Recorder(job, root, device_name, measurements)
        static_values: Dict[str, Any] = {}
        inputs = _inputs(recorder, given, signature, static_values)
        _state(recorder, root)

        def tvls_entry() -> Any:  # stacks.py knows this name: frames outside it are not the program's
            result = called(*given.args, **given.kwargs)
            with recorder.scopes.inside(None if job.method else root):
                return computed(result, job.limits)

        with recorder.recording():
            result = tvls_entry()
    with job.phase("encode"):
        outputs = outline(result, lambda tensor, _: {"value": recorder.graph.read(tensor)})
    if recorder.reads_values:
        notes.append("values_read_by_python")
    if device_name == "meta":
        notes.append("meta_device")
    return {
        "backend": "eager",
        "evidence": "inferred" if device_name == "meta" else "measured",
        "coverage": {"scope": "eager_forward", "status": "complete", "reasons": []},
        "inputs": inputs,
        "outputs": outputs,
        "values": recorder.graph.values,
        "operations": recorder.graph.operations,
        "scopes": recorder.scopes.items,
        "bodies": recorder.bodies,
        "unavailable": _unavailable(job, measurements, device_name),
        "static": static_values,
        "notes": sorted(notes),
    }


def _inputs(recorder: Recorder, given: calls.Given, signature: Any, statics: Dict[str, Any]) -> Dict[str, Any]:
    def describe(key: str, name: str, value: Any) -> Dict[str, Any]:
        def leaf(tensor: Any, path: Tuple[str, ...]) -> Dict[str, Any]:
            known = recorder.graph.known(tensor)  # one tensor may be given twice
            if known is None:
                known = recorder.graph.add_value(tensor, "input", name="/".join((name, *path)))
            return {"value": known}

        tree = outline(value, leaf)
        if "static" in tree or "opaque" in tree:
            statics[key] = tree.get("static", static(value) if "opaque" in tree else None)
        return tree

    names = calls.argument_names(signature, len(given.args))
    args = [
        describe(place.replace("inputs.", "", 1), name, value)
        for place, name, value in zip(given.places, names, given.args, strict=True)
    ]
    return {
        "args": args,
        "kwargs": {name: describe(f"kwargs.{name}", name, value) for name, value in given.kwargs.items()},
    }


def _state(recorder: Recorder, root: Any) -> None:
    """Parameters and buffers, each once: tied weights are one value, under the first of their names."""
    module = libraries.torch.nn.Module
    found = [(name, tensor, "parameters") for name, tensor in module.named_parameters(root, remove_duplicate=False)]
    found += [(name, tensor, "buffers") for name, tensor in module.named_buffers(root, remove_duplicate=False)]
    for name, tensor, collection in found:
        known = recorder.graph.known(tensor)
        if known is None:
            recorder.graph.add_value(tensor, "state", name=name, collection=collection)
        else:
            recorder.graph.values[known].setdefault("alsoNamed", []).append(name)


def _wanted(job: Job) -> FrozenSet[str]:
    return frozenset(job.setup.get("measure", ()))


def _unavailable(job: Job, measurements: Measurements, device_name: str) -> Dict[str, str]:
    found = {
        "timings": "the time of an operator under observation says nothing of its time without",
        "training_step": "one forward runs in evaluation mode; no loss, no gradient",
    }
    if device_name == "meta":
        without = "the model is too large to be held, so it ran on the meta device, without values"
        return {**found, "activation_statistics": without, "storage_aliases": without, "output_bytes": without}
    size = f"the forward runs once more, and {measurements.bytes:,} bytes of results are"
    offered = {
        "storage_aliases": f"measured on request: {size} kept until it ends",
        "activation_statistics": f"measured on request: {size} read several times",
        "output_bytes": "measured on request: the forward runs once more",
    }
    return {**found, **{name: text for name, text in offered.items() if name not in _wanted(job)}}
