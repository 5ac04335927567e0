"""Watches one forward: calls of modules, of PyTorch's functions, and of the ATen operators below them.

An operation is a call of a function as the program wrote it (`torch.nn.functional.linear`); the operators that it ran,
where they are others than itself, are its body. An operator that no such call stands for (in a scripted module, or a
custom operator) is an operation itself.
"""

from __future__ import annotations

import inspect
import json
import sys
import threading
from contextlib import ExitStack, contextmanager
from typing import Any, Dict, Generator, List, NamedTuple, Optional, Tuple

from tvls.worker.frameworks.torch import libraries as lib
from tvls.worker.frameworks.torch.attributes import held_tensors
from tvls.worker.frameworks.torch.encode import encode
from tvls.worker.frameworks.torch.graph import Count, Graph, storage_of
from tvls.worker.frameworks.torch.measurements import Measurements
from tvls.worker.frameworks.torch.names import FunctionName, named_arguments, operator_name, parameter_names
from tvls.worker.frameworks.torch.scopes import Scopes
from tvls.worker.frameworks.torch.stacks import Stacks
from tvls.worker.frameworks.torch.tensors import describe, is_tensor, is_tensor_class, parts
from tvls.worker.frameworks.torch.trees import tensors_in
from tvls.worker.job import Job

WHERE = "_tvls_where"
"""Attribute of exceptions: what was called where they were raised, for those who explain them."""


_SILENT = ("profiler.", "prim.")
"""Namespaces of operators that compute nothing."""

_ADMINISTRATIVE = frozenset(("torch.Tensor.requires_grad_", "torch.Tensor.retain_grad", "torch.Tensor.register_hook"))
"""Functions that return a tensor and compute nothing."""

_TELLING = frozenset(f"torch.Tensor.{name}" for name in ("tolist", "numpy", "item", "__array__", "__dlpack__"))
"""Functions that take values out of a tensor without an operator that tells."""

_RENAMING = frozenset(("aten.set_",))
"""Operators that change what a tensor refers to, and write nothing."""

_QUERIES = frozenset(
    f"aten.{name}"
    for name in ("dim", "size", "stride", "storage_offset", "sym_size", "sym_stride", "sym_numel", "sym_storage_offset")
)
"""Operators that ask a tensor of an own class for its layout."""


class Ran(NamedTuple):
    """One operator that ran below a function. Holds its tensors, so that no other gets their address meanwhile."""

    operator: Any
    args: Tuple[Any, ...]
    kwargs: Dict[str, Any]
    result: Any
    written: List[Any]
    types: Tuple[Any, ...]
    """Classes of its tensors that have operators of their own."""


class Where(NamedTuple):
    """The call at which an exception was raised."""

    function: Optional[str]
    operands: List[str]
    module: Optional[str]


class _Thread(threading.local):
    """What a thread is at."""

    def __init__(self) -> None:
        self.recording = False
        self.below: Optional[List[Ran]] = None
        """Operators of the function that runs now; None between functions."""
        self.modes: Any = None
        """What tells the recorder of functions and of operators, in this thread."""
        self.controlled = False
        """Whether an operator of control flow runs, which has the mode of operators switched off."""
        self.noting = False
        """Whether what is called now is called by the recorder, or by an operator, and not by the program."""


class Recorder:
    """Fills `graph`, `scopes` and `bodies` while the model runs inside `recording`."""

    def __init__(self, job: Job, root: Any, device: str, measurements: Measurements) -> None:
        self._count = Count(job.limits)
        self.graph = Graph(self._count, device, held_tensors(root))
        self.scopes = Scopes(root, type(root).__name__, job.limits)
        self.bodies: List[Dict[str, Any]] = []
        self._tells_values = False
        self._device = device
        self._measurements = measurements
        self._stacks = Stacks(job.frames)
        self._bodies: Dict[str, int] = {}
        self._thread = _Thread()
        self._one_at_a_time = threading.Lock()
        self._writes: Dict[Any, List[Any]] = {}
        self._takes_functions: Any = lib.torch._ops.HigherOrderOperator

    @property
    def reads_values(self) -> bool:
        """Whether the program took values out of tensors, and may have gone another way for other values."""
        return self._tells_values or any(not operation["outputs"] for operation in self.graph.operations)

    @contextmanager
    def recording(self) -> Generator[None, None, None]:
        """Watch the calls of this thread, and of those that start meanwhile or call a module."""
        recorder, module, thread = self, lib.torch.nn.Module, threading.Thread
        plain, start, deepest = module.__call__, thread.start, sys.getrecursionlimit()

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not recorder._thread.recording:
                with recorder._watching():
                    return call(self, *args, **kwargs)
            recorder.scopes.enter(self)
            try:
                result = plain(self, *args, **kwargs)
                if recorder.scopes.any_unchanged:
                    recorder._returned(result)
                return result
            except BaseException as fault:
                recorder._remember(fault, None, ())
                raise
            finally:
                recorder.scopes.leave()

        def start_watched(self: Any) -> None:
            run, around = self.run, recorder.scopes.around()

            def watched() -> None:
                with recorder._watching():
                    recorder.scopes.begin(around)
                    run()

            self.run = watched
            start(self)

        with ExitStack() as stack:
            sys.setrecursionlimit(deepest + deepest // 2 + 100)  # as `call` is in the way of every module
            stack.callback(sys.setrecursionlimit, deepest)
            module.__call__ = call
            stack.callback(setattr, module, "__call__", plain)
            setattr(thread, "start", start_watched)  # noqa: B010  (to a type checker it is no place to assign to)
            stack.callback(setattr, thread, "start", start)
            stack.enter_context(self._watching())
            yield

    @contextmanager
    def _watching(self) -> Generator[None, None, None]:
        functions, operators = self._thread.modes = _modes(self)
        self._thread.recording = True
        try:
            with operators, functions:
                yield
        finally:
            self._thread.recording = False

    # --- functions ---------------------------------------------------------------------------------------------------

    def function(self, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], types: Tuple[Any, ...]) -> Any:
        """Call a function of PyTorch and note it, if it did something with tensors. `types`: classes of arguments that
        may have an implementation of their own.
        """
        thread = self._thread
        if thread.noting:
            return function(*args, **kwargs)
        name = FunctionName.of(function)
        if thread.below is not None or name.is_control:  # the former: below another, in a way that the mode sees
            return self._call(function, args, kwargs)
        shown = args[:1] if name.full == "torch.Tensor.__deepcopy__" else args  # then everything copied before
        operands: List[Any] = []
        tensors_in(shown, operands)
        tensors_in(kwargs, operands)
        before = self._known(operands)
        thread.below = below = []
        try:
            result = self._call(function, args, kwargs)
        except BaseException as fault:
            self._remember(fault, function, operands)
            raise
        finally:
            thread.below = None
        if name.full in _TELLING:
            self._tells_values = True
        made: List[Any] = []
        tensors_in(result, made)
        if name.is_setter and name.full == "torch.Tensor.data" and len(operands) == 2:
            with self._noted():
                self.graph.hold(operands[0], self.graph.read(operands[1]))
        elif below or (made and not name.is_attribute and name.full not in _ADMINISTRATIVE):
            frame = inspect.currentframe()
            self._note(name.full, function, shown, kwargs, operands, before, made, below, frame, types)
        return result

    def _call(self, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Call a function so that its operators are seen."""
        thread = self._thread
        if not thread.controlled:
            return function(*args, **kwargs)
        thread.controlled = False
        try:
            with thread.modes[1]:
                return function(*args, **kwargs)
        finally:
            thread.controlled = True

    def _note(self, *noted: Any) -> None:
        with self._noted():
            self._note_call(*noted)

    def _known(self, operands: List[Any]) -> List[Optional[int]]:
        if not operands:
            return []
        with self._noted():
            return [self.graph.known(operand) for operand in operands]

    @contextmanager
    def _noted(self) -> Generator[None, None, None]:
        """What is called in here is no call of the program; one thread at a time."""
        self._thread.noting = True
        try:
            # Attributes of tensors are functions, too: without the modes they cost a tenth.
            with self._one_at_a_time, lib.torch._C.DisableTorchFunction():
                yield
        finally:
            self._thread.noting = False

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
        types: Tuple[Any, ...],
    ) -> None:
        graph = self.graph
        below = _without_own_detaches(name, below)
        values = [
            graph.read(operand) if value is None else value for operand, value in zip(operands, before, strict=True)
        ]
        foreign = types or any(ran.types for ran in below)
        if foreign and (None in before or not all(map(is_tensor_class, types))):
            values += self._read_inside(operands, below)
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
                graph.wrote(tensor, index)
        written = [tensor for ran in below for tensor in ran.written]
        for tensor in _distinct([*made, *(operand for operand in operands if _is_among(operand, written))]):
            operation["outputs"].append(self._made(tensor))
            if not below and (at := _place(tensor, operands)) is not None:
                self.scopes.unchanged(tensor, values[at], operation["outputs"][-1])
        if foreign:
            graph.made_inside([part for tensor in made for part in parts(tensor)], index)
            for ran in below:
                tensors_in(ran.result, inside := [])
                graph.made_inside(inside, index)

    def _returned(self, result: Any) -> None:
        """A module has ended. What a function in it returned as it got it is for everybody else what it was before,
        unless the module returns it: a residual does not lead through the norm that casts it to the dtype it has.
        """
        tensors_in(result, returned := [])
        with self._noted():
            for reference, before, after in self.scopes.keep(returned):
                tensor = reference()
                if tensor is not None and self.graph.holds(tensor) == after:
                    self.graph.hold(tensor, before)

    def _read_inside(self, operands: List[Any], below: List[Ran]) -> List[int]:
        """Values that a function read in objects of other classes: as parts of its operands, or by its operators."""
        taken = [part for operand in operands for part in parts(operand)]
        for ran in below:
            tensors_in(ran.args, taken)
            tensors_in(ran.kwargs, taken)
        given = set(map(storage_of, operands))
        values = [self.graph.holds(tensor) for tensor in taken if storage_of(tensor) not in given]
        return list(dict.fromkeys(value for value in values if value is not None))

    def _made(self, tensor: Any) -> int:
        value = self.graph.add_value(tensor, "intermediate")
        self._measurements.take(tensor, self.graph.values[value])
        return value

    # --- operators ---------------------------------------------------------------------------------------------------

    def operator(self, operator: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], types: Tuple[Any, ...]) -> Any:
        """Run an ATen operator, below a function or by itself. `types`: classes of tensors that have operators."""
        thread = self._thread
        if isinstance(operator, self._takes_functions):
            return self._higher_order(operator, args, kwargs)
        if thread.noting or operator_name(operator).startswith(_SILENT) or operator_name(operator) in _QUERIES:
            return operator(*args, **kwargs)
        alone = thread.below is None
        operands: List[Any] = []
        before: List[Optional[int]] = []
        if alone:
            tensors_in(args, operands)
            tensors_in(kwargs, operands)
            before = self._known(operands)
        thread.noting = alone  # the call that is made here is one that the mode of functions sees, too
        try:
            result = operator(*args, **kwargs)
        except BaseException as fault:
            if alone:
                self._remember(fault, operator, operands)
            raise
        finally:
            thread.noting = False
        ran = Ran(operator, args, kwargs, result, self._written(operator, args, kwargs), types)
        if thread.below is not None:
            thread.below.append(ran)
            return result
        made: List[Any] = []
        tensors_in(result, made)
        name = operator_name(operator)
        self._note(name, operator, args, kwargs, operands, before, made, [ran], inspect.currentframe(), ())
        return result

    def _higher_order(self, operator: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Run an operator that takes functions, so that what it calls is seen: below it, or as the program's own."""
        thread = self._thread
        kernel = operator.py_kernels.get(lib.torch._C.DispatchKey.CompositeExplicitAutograd)
        if thread.noting or kernel is None:
            return operator(*args, **kwargs)
        functions, operators = thread.modes
        if not FunctionName.of(operator).is_control:
            with operators:
                return kernel(*args, **kwargs)
        thread.controlled = True
        try:
            with functions:  # alone: with a mode of operators these kernels refuse to run
                return kernel(*args, **kwargs)
        finally:
            thread.controlled = False

    def _written(self, operator: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> List[Any]:
        """Tensors that an operator writes to, by its schema."""
        places = self._writes.get(operator)
        if places is None:
            arguments = getattr(getattr(operator, "_schema", None), "arguments", ())
            arguments = () if operator_name(operator) in _RENAMING else arguments
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
                graph.wrote(tensor, index)
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
            foreign = tuple(kind for kind in types if kind is not lib.torch.Tensor) if types else ()
            return recorder.function(func, args, kwargs or {}, foreign)

    class Operators(operators):
        supports_higher_order_operators = True

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return recorder.operator(func, args, kwargs or {}, types)

    return Functions(), Operators()


def _params(names: List[str], args: Tuple[Any, ...], kwargs: Dict[str, Any], operands: List[Any]) -> Dict[str, Any]:
    """Arguments that are more than a tensor in its place: by name, tensors in them by position among the operands."""
    positions = {id(operand): at for at, operand in reversed(list(enumerate(operands)))}

    def operand(tensor: Any) -> Optional[int]:
        return positions.get(id(tensor))

    found: Dict[str, Any] = {}
    for name, value in named_arguments(names, args):
        if not is_tensor(value):
            found[name] = encode(value, operand)
    for name, value in kwargs.items():
        found[name] = encode(value, operand)
    return found


def _without_own_detaches(name: str, below: List[Ran]) -> List[Ran]:
    """PyTorch detaches what a factory made where somebody else holds it, too; here it is the recorder who does."""
    if len(below) < 2 or name.endswith((".detach", ".data")):
        return below
    return [
        ran
        for before, ran in zip((None, *below), below, strict=False)
        if before is None or operator_name(ran.operator) != "aten.detach" or ran.args[0] is not before.result
    ]


def _is_itself(short: str, below: List[Ran]) -> bool:
    """Whether the operators say nothing that the name of the function does not."""
    if not below:
        return True
    if len(below) > 1:
        return False
    return operator_name(below[0].operator).rpartition(".")[2].strip("_") == short.strip("_")


def _distinct(tensors: List[Any]) -> List[Any]:
    return list({id(tensor): tensor for tensor in tensors}.values())


def _place(tensor: Any, operands: List[Any]) -> Optional[int]:
    return next((at for at, operand in enumerate(operands) if operand is tensor), None)


def _is_among(tensor: Any, written: List[Any]) -> bool:
    if not written:
        return False
    storage = storage_of(tensor)
    return any(storage_of(other) == storage for other in written)
