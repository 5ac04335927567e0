"""One adapter for each framework. Standard library only until an adapter's `preload` imports its framework.

An adapter is a module with

- `preload()`: import the framework; initialise no backend, start no thread;
- `versions()`: Python and library versions of this interpreter;
- `device_scope(device)`: a context in which the model is imported, built and traced; raises SetupFault (`device`);
- `describe(value)`: `(shape, dtype)` of an array-like local, else None; cheap, and runs no user code;
- `capture(job)`: the framework's part of the capture document, plus `static` and `notes` for its setup record.
"""

from __future__ import annotations

FRAMEWORKS = {"jax": "tvls.worker.frameworks.jax", "torch": "tvls.worker.frameworks.torch"}
