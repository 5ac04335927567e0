"""Watches one forward: calls of modules, of PyTorch's functions, and of the ATen operators below them.

An operation is a call of a function as the program wrote it (`torch.nn.functional.linear`); the operators that it ran,
where they are others than itself, are its body. An operator that no such call stands for (in a scripted module, or a
custom operator) is an operation itself.
"""

from __future__ import annotations

import inspect
import json
import sys
from contextlib import ExitStack, contextmanager
from typing import Any, Dict, Generator, List, NamedTuple, Optional, Tuple

from tvls.worker.frameworks.torch import libraries as lib
from tvls.worker.frameworks.torch.encode import encode
from tvls.worker.frameworks.torch.graph import Count, Graph, storage_of
from tvls.worker.frameworks.torch.measurements import Measurements
from tvls.worker.frameworks.torch.names import FunctionName, operator_name, parameter_names
from tvls.worker.frameworks.torch.scopes import Scopes
from tvls.worker.frameworks.torch.stacks import Stacks
from tvls.worker.frameworks.torch.tensors import describe, is_tensor
from tvls.worker.frameworks.torch.trees import tensors_in
from tvls.worker.job import Job

WHERE = "_tvls_where"
"""Attribute of exceptions: what was called where they were raised, for those who explain them."""


_SILENT = ("profiler.", "prim.")
"""Namespaces of operators that compute nothing."""


class Ran(NamedTuple):
    """One operator that ran below a function. Holds its tensors, so that no other gets their address meanwhile."""

    operator: Any
    args: Tuple[Any, ...]
    kwargs: Dict[str, Any]
    result: Any
    written: List[Any]


class Where(NamedTuple):
    """The call at which an exception was raised."""

    function: Optional[str]
    operands: List[str]
    module: Optional[str]


class Recorder:
    """Fills `graph`, `scopes` and `bodies` while the model runs inside `recording`."""

    def __init__(self, job: Job, root: Any, device: str, measurements: Measurements) -> None:
        self._count = Count(job.limits)
        self.graph = Graph(self._count, device)
        self.scopes = Scopes(root, type(root).__name__, job.limits)
        self.bodies: List[Dict[str, Any]] = []
        self.reads_values = False
        """Whether the program took values out of tensors, and may have gone another way for other values."""
        self._device = device
        self._measurements = measurements
        self._stacks = Stacks(job.frames)
        self._bodies: Dict[str, int] = {}
        self._below: Optional[List[Ran]] = None
        """Operators of the function that runs now; None between functions."""
        self._noting = False
        """Whether what is called now is called by this class, and not by the program."""
        self._writes: Dict[Any, List[Any]] = {}

    @contextmanager
    def recording(self) -> Generator[None, None, None]:
        recorder, module = self, lib.torch.nn.Module
        plain = module.__call__

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            recorder.scopes.enter(self)
            try:
                return plain(self, *args, **kwargs)
            except BaseException as fault:
                recorder._remember(fault, None, ())
                raise
            finally:
                recorder.scopes.leave()

        functions, operators = _modes(recorder)
        with ExitStack() as stack:
            module.__call__ = call
            stack.callback(setattr, module, "__call__", plain)
            stack.enter_context(operators)
            stack.enter_context(functions)
            yield

    # --- functions ---------------------------------------------------------------------------------------------------

    def function(self, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Call a function of PyTorch and note it, if it did something with tensors."""
        if self._noting or self._below is not None:  # the latter: below another, in a way that the mode sees
            return function(*args, **kwargs)
        operands: List[Any] = []
        tensors_in(args, operands)
        tensors_in(kwargs, operands)
        before = [self.graph.known(operand) for operand in operands]
        self._below = below = []
        try:
            result = function(*args, **kwargs)
        except BaseException as fault:
            self._remember(fault, function, operands)
            raise
        finally:
            self._below = None
        made: List[Any] = []
        tensors_in(result, made)
        name = FunctionName.of(function)
        if below or (made and not name.is_attribute):
            self._note(name.full, function, args, kwargs, operands, before, made, below, inspect.currentframe())
        return result

    def _note(self, *noted: Any) -> None:
        self._noting = True
        try:
            self._note_call(*noted)
        finally:
            self._noting = False

    def _note_call(
        self,
        name: str,
        function: Any,
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
        operands: List[Any],
        before: List[Optional[int]],
        made: List[Any],
        below: List[Ran],
        frame: Any,
    ) -> None:
        graph = self.graph
        values = [
            graph.read(operand) if value is None else value for operand, value in zip(operands, before, strict=True)
        ]
        scope = self.scopes.here()
        scope_id: str = self.scopes.items[scope]["id"]
        short = name.rpartition(".")[2]
        operation: Dict[str, Any] = {
            "primitive": name,
            "scope": scope,
            "inputs": [{"value": value} for value in values],
            "outputs": [],
            "params": _params(parameter_names(function), args, kwargs, operands),
            "frames": self._stacks.of(frame, function),
        }
        if not _is_itself(short, below):
            operation["bodies"] = [{"role": "aten", "body": self._body(name, operands, below)}]
        index = graph.add_operation(f"{scope_id}/{short}" if scope_id else short, operation)
        for ran in below:
            for tensor in ran.written:
                graph.wrote(storage_of(tensor), index)
        written = [tensor for ran in below for tensor in ran.written]
        for tensor in _distinct([*made, *(operand for operand in operands if _is_among(operand, written))]):
            operation["outputs"].append(self._made(tensor))
        if not operation["outputs"]:
            self.reads_values = True

    def _made(self, tensor: Any) -> int:
        value = self.graph.add_value(tensor, "intermediate")
        self._measurements.take(tensor, self.graph.values[value])
        return value

    # --- operators ---------------------------------------------------------------------------------------------------

    def operator(self, operator: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Run an ATen operator, below a function or by itself."""
        if self._noting or operator_name(operator).startswith(_SILENT):
            return operator(*args, **kwargs)
        alone = self._below is None
        operands: List[Any] = []
        before: List[Optional[int]] = []
        if alone:
            tensors_in(args, operands)
            tensors_in(kwargs, operands)
            before = [self.graph.known(operand) for operand in operands]
        try:
            result = operator(*args, **kwargs)
        except BaseException as fault:
            if alone:
                self._remember(fault, operator, operands)
            raise
        ran = Ran(operator, args, kwargs, result, self._written(operator, args, kwargs))
        if self._below is not None:
            self._below.append(ran)
            return result
        made: List[Any] = []
        tensors_in(result, made)
        name = operator_name(operator)
        self._note(name, operator, args, kwargs, operands, before, made, [ran], inspect.currentframe())
        return result

    def _written(self, operator: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> List[Any]:
        """Tensors that an operator writes to, by its schema."""
        places = self._writes.get(operator)
        if places is None:
            arguments = getattr(getattr(operator, "_schema", None), "arguments", ())
            places = self._writes[operator] = [
                (position, argument.name)
                for position, argument in enumerate(arguments)
                if argument.alias_info is not None and argument.alias_info.is_write
            ]
        found: List[Any] = []
        for position, name in places:
            tensors_in(kwargs[name] if name in kwargs else args[position] if position < len(args) else None, found)
        return found

    def _body(self, name: str, operands: List[Any], below: List[Ran]) -> int:
        graph = Graph(self._count, self._device)
        inputs = [graph.add_value(operand, "input") for operand in _distinct(operands)]
        for ran in below:
            taken: List[Any] = []
            tensors_in(ran.args, taken)
            tensors_in(ran.kwargs, taken)
            made: List[Any] = []
            tensors_in(ran.result, made)
            primitive = operator_name(ran.operator)
            operation: Dict[str, Any] = {
                "primitive": primitive,
                "scope": 0,
                "inputs": [{"value": graph.read(tensor)} for tensor in taken],
                "outputs": [],
                "params": _params(parameter_names(ran.operator), ran.args, ran.kwargs, taken),
                "frames": [],
            }
            index = graph.add_operation(primitive.rpartition(".")[2], operation)
            for tensor in ran.written:
                graph.wrote(storage_of(tensor), index)
            operation["outputs"] += [graph.add_value(tensor, "intermediate") for tensor in _distinct(made)]
        outputs: List[Dict[str, Any]] = []
        if below:
            last: List[Any] = []
            tensors_in(below[-1].result, last)
            outputs = [{"value": graph.read(tensor)} for tensor in last]
        body: Dict[str, Any] = {
            "label": f"{name.rpartition('.')[2]}: operators that ran",
            "inputs": inputs,
            "outputs": outputs,
            "values": graph.values,
            "operations": graph.operations,
            "scopes": [{"id": "", "parent": None, "kind": "root"}],
            "bodies": [],
        }
        key = json.dumps(body, sort_keys=True)
        index = self._bodies.get(key)
        if index is None:
            index = self._bodies[key] = len(self.bodies)
            self.bodies.append(body)
        return index

    # --- failures ----------------------------------------------------------------------------------------------------

    def _remember(self, fault: BaseException, function: Any, operands: Any) -> None:
        """Have those who explain an exception know where it was raised; the innermost place counts."""
        if hasattr(fault, WHERE):
            return
        name = None if function is None else FunctionName.of(function).full
        shown = [f"{found[1]}{found[0]}" for found in map(describe, operands) if found is not None]
        try:
            setattr(fault, WHERE, Where(name, shown, self.scopes.where()))
        except AttributeError:  # an exception with slots
            return


def _modes(recorder: Recorder) -> Tuple[Any, Any]:
    """The two modes of PyTorch that tell a recorder of functions and of operators."""
    functions: Any = lib.torch.overrides.TorchFunctionMode
    operators: Any = sys.modules["torch.utils._python_dispatch"].TorchDispatchMode

    class Functions(functions):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return recorder.function(func, args, kwargs or {})

    class Operators(operators):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return recorder.operator(func, args, kwargs or {})

    return Functions(), Operators()


def _params(names: List[str], args: Tuple[Any, ...], kwargs: Dict[str, Any], operands: List[Any]) -> Dict[str, Any]:
    """Arguments that are more than a tensor in its place: by name, tensors in them by position among the operands."""
    positions = {id(operand): at for at, operand in reversed(list(enumerate(operands)))}

    def operand(tensor: Any) -> int:
        return positions[id(tensor)]

    found: Dict[str, Any] = {}
    for at, value in enumerate(args):
        if not is_tensor(value):
            found[names[at] if at < len(names) else f"arg{at}"] = encode(value, operand)
    for name, value in kwargs.items():
        found[name] = encode(value, operand)
    return found


def _is_itself(short: str, below: List[Ran]) -> bool:
    """Whether the operators say nothing that the name of the function does not."""
    if not below:
        return True
    if len(below) > 1:
        return False
    return operator_name(below[0].operator).rpartition(".")[2].strip("_") == short.strip("_")


def _distinct(tensors: List[Any]) -> List[Any]:
    return list({id(tensor): tensor for tensor in tensors}.values())


def _is_among(tensor: Any, written: List[Any]) -> bool:
    if not written:
        return False
    storage = storage_of(tensor)
    return any(storage_of(other) == storage for other in written)
