"""The real worker with a stand-in for JAX: quick to load, and its arrays need no library.

Started in place of `tvls/worker/__main__.py`, by tests that are about processes and not about JAX.
"""

import importlib
import importlib.util
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(os.path.dirname(os.path.dirname(HERE)), "tvls", "worker", "__main__.py")


def load_main():
    if sys.path and os.path.realpath(sys.path[0]) == os.path.realpath(HERE):
        del sys.path[0]
    spec = importlib.util.spec_from_file_location("worker_main", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Array:
    """An array of nothing: a shape and a dtype."""

    def __init__(self, *shape, dtype="float32"):
        self.shape = shape
        self.dtype = dtype


def make_adapter():
    from contextlib import contextmanager

    adapter = types.ModuleType("fake_adapter")

    def preload():
        if os.environ.get("FAKE_PRELOAD") == "broken":
            raise ImportError("libfake.so is missing")
        if os.environ.get("FAKE_PRELOAD") == "threads":
            import threading

            threading.Thread(target=threading.Event().wait, daemon=True).start()
        if os.environ.get("FAKE_PRELOAD", "").startswith("dying:") and "warm" in sys.argv:
            with open(os.environ["FAKE_PRELOAD"].partition(":")[2], "a") as starts:
                starts.write("x")
            os.abort()
        if os.environ.get("FAKE_PRELOAD") == "slow":
            import time

            time.sleep(1.0)
        if os.environ.get("FAKE_PRELOAD") == "workspace":
            importlib.import_module("part")
        arrays = types.ModuleType("fakearrays")
        arrays.Array = Array
        sys.modules["fakearrays"] = arrays

    @contextmanager
    def device_scope(device):
        from tvls.worker.job import SetupFault

        if device != "cpu":
            raise SetupFault("device", f"no device {device!r}", "device")
        yield

    def describe(value):
        return (list(value.shape), value.dtype) if issubclass(type(value), Array) else None

    def capture(job):
        setup = job.setup
        if "factory" in setup["inputs"]:
            with job.phase("inputs"):
                made = job.load_factory(setup["inputs"]["factory"])
                args, kwargs = made["args"], made["kwargs"]
        else:
            args, kwargs = setup["inputs"]["args"], setup["inputs"]["kwargs"]
        with job.phase("trace"):
            result = job.target(*args, **kwargs)
        frame = job.frames.add(job.target.__code__.co_filename, job.name, 1, 0, 1, 4)
        return {
            "backend": "fake",
            "evidence": "inferred",
            "coverage": {"scope": "traced_program", "status": "complete", "reasons": []},
            "inputs": {"args": [], "kwargs": {}},
            "outputs": {"static": result if isinstance(result, (int, float, str, list, dict)) else None},
            "values": [],
            "operations": [
                {
                    "id": "fake.0",
                    "primitive": "fake",
                    "scope": 0,
                    "inputs": [],
                    "outputs": [],
                    "params": {},
                    "frames": [frame],
                }
            ],
            "scopes": [{"id": "", "parent": None, "kind": "root"}],
            "bodies": [],
            "unavailable": {},
            "static": {},
            "notes": [],
        }

    adapter.preload = preload
    adapter.versions = lambda: {"fake": "1.0"}
    adapter.device_scope = device_scope
    adapter.describe = describe
    adapter.kind_of = lambda target, owner: "jax.function"
    adapter.capture = capture
    return adapter


if __name__ == "__main__":
    main = load_main()
    serve_own_packages = main.serve_own_packages

    def serve_own_packages_and_fake():
        serve_own_packages()
        from tvls.worker import frameworks

        sys.modules["fake_adapter"] = make_adapter()
        frameworks.FRAMEWORKS["jax"] = "fake_adapter"

    main.serve_own_packages = serve_own_packages_and_fake
    sys.exit(main.main(sys.argv[1:]))
