"""The module to run: how it is made, how it is called, and how it is left as it was."""

from __future__ import annotations

import inspect
import random
from contextlib import contextmanager
from typing import Any, Dict, Generator, Iterator, List, Set, Tuple

from tvls.worker import calls
from tvls.worker.classes import class_of
from tvls.worker.frameworks.torch import libraries as lib
from tvls.worker.frameworks.torch.tensors import generator, is_tensor
from tvls.worker.job import Job, SetupFault, type_name, type_of
from tvls.worker.values import Budget, Making, build_call


def build(job: Job) -> Tuple[Any, bool]:
    """The module, and whether it was made here with fresh parameters. Raises SetupFault (`init`)."""
    saved: Dict[str, Any] = job.setup.get("init") or {}
    maker = job.maker
    cls = class_of(maker)
    if "factory" in saved:
        model = job.load_factory(saved["factory"])
        if not is_module(model) or (cls is not None and not isinstance(model, cls)):
            wanted = job.name if cls is not None else "a torch.nn.Module"
            raise SetupFault("init", f"the init factory must return {wanted}, not {_shown(model)}", "init.factory")
        return _a_tree(model), False
    if is_module(maker):
        if saved.get("args") or saved.get("kwargs"):
            raise SetupFault("init", f"{job.name} is a module already: it takes no init values", "init")
        return _a_tree(maker), False
    if not callable(maker):
        raise SetupFault("setup", f"{job.name} is no torch.nn.Module and makes none: it is {_shown(maker)}", "model")
    call = build_call(saved, "init", Making(Budget(job.limits), generator(_seed(job)), job.find_class))
    model = maker(*call.args, **call.kwargs)
    if not is_module(model):
        hint = 'for a JAX function or a Flax module write framework = "jax"'
        if is_tensor(model):
            hint = "what a function computes is shown where a module calls it: name a module whose forward does"
        message = f"{job.name} makes {_shown(model)}, not a torch.nn.Module"
        raise SetupFault("setup", message, "model", hint=hint)
    return _a_tree(model), True


def _a_tree(model: Any) -> Any:
    """The model. Raises SetupFault where it is a module inside of itself, which PyTorch's own `to` does not survive."""
    around = {id(model)}
    done: Set[int] = set()
    path: List[Tuple[str, Any, Iterator[Tuple[str, Any]]]] = [("", model, iter(model.named_children()))]
    while path:
        _, module, children = path[-1]
        for child_name, child in children:
            if id(child) in around:
                where = ".".join([*(part for part, _, _ in path[1:]), child_name])
                message = f"the model contains itself, as {where!r}: PyTorch's own `to` and `eval` never end on it"
                hint = "keep a reference to what is around a module out of its submodules, such as in a tuple"
                raise SetupFault("init", message, hint=hint)
            if id(child) not in done:
                around.add(id(child))
                path.append((child_name, child, iter(child.named_children())))
                break
        else:
            path.pop()
            around.discard(id(module))
            done.add(id(module))
    return model


def read_inputs(job: Job, called: object) -> calls.Given:
    """The arguments of the call. Raises SetupFault (`inputs`, `dtype`, `limit`)."""
    return calls.read_call(job, called, generator(_seed(job)))


def _seed(job: Job) -> int:
    return int(job.setup.get("seed", 0))


def is_module(value: object) -> bool:
    return isinstance(value, lib.torch.nn.Module)


def _shown(value: object) -> str:
    return f"the class {value.__qualname__}" if isinstance(value, type) else type_name(value)


def called(job: Job, model: Any) -> Any:
    """What is called: the module itself, or the method of it that the target names. Raises SetupFault (`model`)."""
    if job.method is not None:
        return getattr(model, job.method)
    module = lib.torch.nn.Module
    none = getattr(getattr(model, "forward", None), "__func__", None) is module.forward  # which raises
    if none and type_of(model).__call__ is module.__call__:
        hint = "give it a forward that calls what you want to see"
        if isinstance(job.target, type) and (methods := _own_methods(job.target)):
            hint += f", or name a method: {' or '.join(f'{job.name}.{name}' for name in methods[:3])}"
        raise SetupFault("setup", f"{type(model).__name__} has no forward, so nothing of it runs", "model", hint=hint)
    return model


def _own_methods(cls: Any) -> List[str]:
    """Public methods that a class has itself and modules of PyTorch have not, in the order written."""
    named = [name for name, value in cls.__dict__.items() if inspect.isfunction(value) and not name.startswith("_")]
    return [name for name in named if not hasattr(lib.torch.nn.Module, name)]


def signature_of(job: Job, model: Any) -> Any:
    """What the arguments are named by: `forward`, which a module hides behind its `__call__`."""
    if job.method is not None:
        return getattr(model, job.method)
    forward: Any = getattr(model, "forward", None)
    if type(model).__name__ == "OptimizedModule":  # of torch.compile
        forward = getattr(model, "_orig_mod", model).forward
    try:
        inspect.signature(forward)
    except (TypeError, ValueError):  # a scripted method
        return model
    return forward


@contextmanager
def restored(model: Any) -> Generator[None, None, None]:
    """Run in evaluation mode without gradients; modes of every submodule, default dtype and gradient mode are
    afterwards as they were, whatever happens."""
    torch = lib.torch
    modes: List[Tuple[Any, bool]] = [
        (module, module.training) for module in torch.nn.Module.modules(model) if hasattr(module, "training")
    ]
    dtype = torch.get_default_dtype()
    gradients = torch.is_grad_enabled()
    try:
        for module, _ in modes:
            module.training = False
        torch.set_grad_enabled(False)
        yield
    finally:
        torch.set_grad_enabled(gradients)
        torch.set_default_dtype(dtype)
        for module, training in modes:
            module.training = training


@contextmanager
def seeded(seed: int) -> Generator[None, None, None]:
    """Random numbers by the seed; afterwards they go on as if none had been drawn, whatever happens."""
    torch = lib.torch
    drawn, own = torch.get_rng_state(), random.getstate()
    try:
        random.seed(seed)
        torch.manual_seed(seed)
        yield
    finally:
        torch.set_rng_state(drawn)
        random.setstate(own)


def uninitialised(model: Any) -> bool:
    """Whether a lazy module waits for its first call to make its parameters."""
    kind: Any = lib.torch.nn.parameter.UninitializedTensorMixin
    tensors = [*lib.torch.nn.Module.parameters(model), *lib.torch.nn.Module.buffers(model)]
    return any(isinstance(tensor, kind) for tensor in tensors)
