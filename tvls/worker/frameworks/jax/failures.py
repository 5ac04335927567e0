"""Exceptions of JAX and Flax in one line: the leaf, operand or argument at fault, and what to try.

Their messages are long, and their wording changes between versions: what is not recognised stays as it is.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from contextlib import contextmanager
from math import prod
from types import FunctionType
from typing import Any, Callable, Dict, Generator, Iterator, List, Optional, Sequence, Tuple, Type

from tvls.worker.failures import Explanation
from tvls.worker.frameworks.jax import given
from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.calls import Leaf
from tvls.worker.frameworks.jax.dtypes import ENVIRONMENT
from tvls.worker.job import type_of

MACHINERY = ("jax", "jaxlib", "flax", "numpy", "opt_einsum", "ml_dtypes")
"""Packages whose frames are left out of a failure: what the program called, and not how that works."""

_LEAVES, _KEPT, _FIRST = "_tvls_leaves", "_tvls_kept", "_tvls_first"
"""Attributes of exceptions: what is known where they are raised, for those who explain them."""
_WORKER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_OWN = re.compile(rf"(?:the )?(?:function )?\w+ at {re.escape(_WORKER)}\S+?:\d+")
_OWN_LINE = re.compile(rf"^{re.escape(_WORKER)}\S+:\d+(?::| \().*\n", re.M)
_FROM_ARGUMENT = re.compile(r"depends on the values? of the arguments? (.+?)\.(?:\s|$)")
_TRACED = re.compile(r"while tracing the function (.+?)(?: at (\S+?):\d+)? for (\w+)")
_OF_TRACERS = re.compile(r"\btracers\[(\d+)\]")


@contextmanager
def naming(leaves: Sequence[Leaf]) -> Generator[None, None, None]:
    """Have what fails in this context know what the arguments of the traced call are called."""
    try:
        yield
    except BaseException as fault:
        if not hasattr(fault, _LEAVES):
            setattr(fault, _LEAVES, list(leaves))
        raise


def explain(fault: BaseException, full: str) -> Optional[Explanation]:
    """What can be said of an exception beyond its own message, or None."""
    found: Optional[Explanation] = None
    for rule in _RULES:
        found = rule(fault, full)
        if found is not None:
            break
    suspects = given.suspects(fault, full)
    if suspects is not None:
        found = found or Explanation()
        found.hint = f"{suspects}. Or: {found.hint}" if found.hint else suspects
    told = _in_terms_of_the_target(fault, full)
    if told != full:
        found = found or Explanation(told)
        found.detail = told
    return found


def _in_terms_of_the_target(fault: BaseException, full: str) -> str:
    """The message with the names that the arguments of the target have in place of those of the function around it."""
    leaves: List[Leaf] = getattr(fault, _LEAVES, [])

    def replace(match: "re.Match[str]") -> str:
        at = int(match.group(1))
        return leaves[at].name if at < len(leaves) else match.group(0)

    return _OF_TRACERS.sub(replace, _OWN.sub("the target", _OWN_LINE.sub("", full)))


def _named(fault: BaseException, names: str) -> Tuple[List[str], List[Leaf]]:
    """Argument names of JAX's message as the setup has them, and the leaves among them that are the target's own."""
    leaves: List[Leaf] = getattr(fault, _LEAVES, [])
    own: List[Leaf] = []

    def replace(match: "re.Match[str]") -> str:
        at = int(match.group(1))
        if at >= len(leaves):
            return match.group(0)
        own.append(leaves[at])
        return leaves[at].name

    parts = re.split(r",\s*(?:and\s+)?|\s+and\s+", _OF_TRACERS.sub(replace, names))
    return [part for part in parts if part], own


# --- values that Python needs and a trace does not have --------------------------------------------------------------

_NEEDS: Dict[str, Tuple[str, str]] = {
    "TracerBoolConversionError": (
        "Python needs to know whether a traced value is true",
        "jnp.where or jax.lax.cond decides inside the program",
    ),
    "TracerIntegerConversionError": (
        "Python needs a traced value as an integer",
        "jnp.take or jax.lax.dynamic_index_in_dim indexes inside the program",
    ),
    "TracerArrayConversionError": ("NumPy needs the contents of a traced array", "jax.numpy has the same functions"),
    "NonConcreteBooleanIndexError": (
        "a boolean index selects a number of elements that is not known while tracing",
        "jnp.where(mask, x, y) keeps the shape, and jnp.nonzero takes a size",
    ),
    "ConcretizationTypeError": ("Python needs the contents of a traced value", "keep the value inside the program"),
}
_SHAPE = ("a shape needs numbers that are known while tracing", "take the size from another array's shape")
_KIND = re.compile(r"(?:shape|got) ([a-z]+\d*(?:_\w+)?\[[\d,]*\])")


def _concrete(fault: BaseException, full: str) -> Optional[Explanation]:
    kind = next((cls.__name__ for cls in type(fault).__mro__ if cls.__name__ in _NEEDS), None)
    shape = given.untraced_shape(full)
    if shape is not None:
        return Explanation(f"a shape needs integers, and this one is {shape}")
    if full.startswith("Shapes must be 1D sequences of concrete"):
        needs, instead = _SHAPE
    elif kind is not None:
        needs, instead = _NEEDS[kind]
        function = re.search(r"problem arose with the `(\w+)` function", full)
        if function is not None:
            needs = f"`{function.group(1)}` needs the contents of a traced value"
            instead = "x.astype converts inside the program"
    else:
        return None
    what = _KIND.search(full)
    message = f"{needs} ({what.group(1)})" if what is not None else needs
    depends = _FROM_ARGUMENT.search(" ".join(full.split()))
    if depends is None:
        return Explanation(message, hint=instead)
    names, own = _named(fault, depends.group(1))
    message += f", which depends on {_listed(names)}"
    return Explanation(message, hint=f"{_static_hint(fault, full, names, own)}{instead}")


def needs_contents() -> Tuple[Type[Exception], ...]:
    """The errors of a program that looks at the contents of a traced value."""
    return tuple(getattr(lib.jax.errors, name) for name in _NEEDS)


def _static_hint(fault: BaseException, full: str, names: List[str], own: List[Leaf]) -> str:
    # a whole array is data; a single number may be a choice
    given = [leaf.name for leaf in own if leaf.role == "input" and leaf.array.shape == () and not leaf.lazy]
    if given:
        verb = "is an array" if len(given) == 1 else "are arrays"
        return f"{_listed(given)} {verb} in the setup: a plain Python value there stays static. Or: "
    traced = _TRACED.search(full)
    if own or traced is None or traced.group(3) not in ("jit", "pjit"):
        return ""
    function = traced.group(1)
    name = function.rpartition(".")[2]
    held: List[Dict[str, object]] = [frame.f_locals for frame in _frames(fault) if frame.f_code.co_name == name]
    if not held or not all(
        _is_number(held[0].get(name)) for name in names
    ):  # what is static is compared and hashed: no array can be
        return ""
    listed = ", ".join(repr(name) for name in names)
    return (
        f"`{function}` can have {_listed(names)} static, where a plain Python value is passed: "
        f"jax.jit(…, static_argnames=({listed},)). Or: "
    )


def _is_number(value: object) -> bool:
    """Whether a traced value is one number, which a caller may have passed as a Python one."""
    return lib.jax.core.Tracer in type_of(value).__mro__ and getattr(value, "shape", None) == ()


def _listed(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


# --- loops and branches whose ends do not fit ------------------------------------------------------------------------

_DIFFER = re.compile(r"^(.*?),? but they differ[.:]", re.S)
_SENTENCE = re.compile(
    r"^\s*\*?\s*(.*\b(?:so the|do not match|types differ|but the corresponding)\b.*?)[.;]?\s*$", re.M
)
_COMPONENT = re.compile(
    r"(?:The input )?carry(?: component)? (?P<name>\S+) has type (?P<before>\S+) but the corresponding output carry "
    r"component has type (?P<after>[^\s,]+(?:,[^\s,]+)*), so the (?P<what>.+?) do not match"
)


def _mismatch(fault: BaseException, full: str) -> Optional[Explanation]:
    head = _DIFFER.match(full)
    if head is None:
        return None
    sentences = [
        _CLASS.sub(_class, " ".join(match.group(1).split())) for match in _SENTENCE.finditer(full[head.end() :])
    ]
    if not sentences:
        return None
    operation = head.group(1).split()[0]
    more = f" (and {len(sentences) - 1} more)" if len(sentences) > 1 else ""
    carry = _COMPONENT.search(sentences[0])
    if carry is not None:
        name, before, after, what = carry.group("name", "before", "after", "what")
        message = (
            f"{operation}: carry component {name} is {before} before and {after} after one step: {what} differ{more}"
        )
        cast = (
            f"`.astype` in the body, or start with {after}" if "dtype" in what or "weak" in what else "the same shape"
        )
        hint = f"keep {name} of one type: {cast}" if cast.startswith("`") else f"return {name} in {cast} that came in"
        return Explanation(message, hint=hint, first=_body_function(fault))
    hint = "return the same structure, shapes and dtypes on every way"
    body = _body_function(fault) if "carry" in head.group(1) else None
    return Explanation(f"{operation}: {sentences[0]}{more}", hint=hint, first=body)


_CLASS = re.compile(r"(a )?<class '([\w.<>]+)'>")


def _class(match: "re.Match[str]") -> str:
    name = match.group(2).rpartition(".")[2]
    if name in ("ShapedArray", "ArrayImpl", "DynamicJaxprTracer", "JitTracer"):
        name = "array"
    return f"{_article(name)} {name}" if match.group(1) else name


def _body_function(fault: BaseException) -> Optional[Tuple[str, str, int]]:
    """The function that a loop repeats: JAX calls it no more when the fault shows, so that it is on no frame."""
    found: Optional[Tuple[str, str, int]] = None
    for frame in _frames(fault):
        if not frame.f_code.co_filename.endswith(_LOOPS):
            continue
        for name in ("f", "body_fun"):
            function = _innermost(frame.f_locals.get(name))
            if function is not None and not is_library(function.__code__.co_filename):
                code = function.__code__
                found = (code.co_filename, getattr(code, "co_qualname", code.co_name), code.co_firstlineno)
    return found


_LOOPS = os.path.join("jax", "_src", "lax", "control_flow", "loops.py")


def _innermost(function: Any) -> Optional[FunctionType]:
    for _ in range(20):
        if isinstance(function, FunctionType):
            wrapped = inspect.unwrap(function)
            return wrapped if isinstance(wrapped, FunctionType) else None
        function = getattr(function, "func", None) or getattr(function, "__func__", None)
    return None


def is_library(filename: str) -> bool:
    """Whether a file is of JAX, Flax or what they stand on, or the worker's own."""
    if filename.startswith(_WORKER):
        return True
    return "-packages" in filename and any(f"{os.sep}{name}{os.sep}" in filename for name in MACHINERY)


def _frames(fault: BaseException) -> Iterator[Any]:
    traceback = fault.__traceback__
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


# --- tracers that outlive their trace --------------------------------------------------------------------------------


def _leaked(fault: BaseException, full: str) -> Optional[Explanation]:
    if type(fault).__name__ != "UnexpectedTracerError":
        return None
    kept = getattr(fault, _KEPT, None) or [name for frame in _frames(fault) for name in leaked_names(frame.f_globals)]
    traced = re.search(r"function being traced when the value leaked was (\S+)(?: at (\S+?:\d+))?", full)
    lines = re.findall(r"^(?:The leaked .* on line )?(\S+?:\d+)(?::\d+)? \(([^)]*)\)", full, re.M)
    made = next((line for line in reversed(lines[1:]) if not is_library(line[0])), lines[0] if lines else None)
    what = re.search(r"intermediate value with type (\S+)", full)
    subject = _listed(sorted(set(kept))) if kept else "a value"
    message = f"{subject} still holds a traced value" if kept else "a traced value is used after its trace has ended"
    if what is not None:
        message += f" ({what.group(1)})"
    if made is not None:
        message += f", made at {made[0]} in {made[1]}"
    elif traced is not None and "tvls_entry" not in traced.group(1):
        message += f", from the trace of {traced.group(1)}"
    hint = "return the value, and pass it on as an argument, instead of keeping it in a global or an object"
    return Explanation(message, hint=hint, first=getattr(fault, _FIRST, None))


def refuse_dead_values(closed: Any, target: object) -> None:
    """Raises JAX's UnexpectedTracerError where a program has a value of an earlier trace among its constants.

    JAX does so when the program is to run; until then such a value passes for a constant.
    """
    for var, const in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        if not isinstance(const, lib.jax.core.Tracer):
            continue
        try:
            lib.jax.jit(_same)(const)
        except lib.jax.errors.UnexpectedTracerError as error:
            setattr(error, _KEPT, leaked_by(target))
            setattr(error, _FIRST, _place_of_use(closed.jaxpr, var))
            raise error.with_traceback(None)  # noqa: B904 - it is JAX's own error, for another place


def _same(value: Any) -> Any:
    return value


def _place_of_use(jaxpr: Any, var: Any) -> Optional[Tuple[str, str, int]]:
    for eqn in jaxpr.eqns:
        if any(atom is var for atom in eqn.invars):
            frames: Any = getattr(eqn.source_info.traceback, "frames", ())
            for frame in frames:
                if not is_library(frame.file_name):
                    return frame.file_name, frame.function_name, frame.line_num
    return None


def leaked_names(namespace: Dict[str, Any]) -> List[str]:
    """Names of globals that hold tracers, directly or in a plain container. Runs no user code."""
    tracer = lib.jax.core.Tracer
    module = str(namespace.get("__name__", ""))
    if module.partition(".")[0] in (*MACHINERY, "tvls"):
        return []

    def holds(value: Any, depth: int = 2) -> bool:
        kind = type_of(value)
        if tracer in kind.__mro__:
            return True
        if depth and kind in (list, tuple, dict) and len(value) <= 1000:
            return any(holds(item, depth - 1) for item in (value.values() if kind is dict else value))
        return False

    return [f"{module}.{name}" for name, value in list(namespace.items()) if holds(value)]


def leaked_by(target: object) -> List[str]:
    """Globals beside the target that hold a tracer after its trace: another trace of it would meet a dead value."""
    module = sys.modules.get(str(getattr(target, "__module__", "")))
    return [] if module is None else leaked_names(vars(module))


# --- arguments -------------------------------------------------------------------------------------------------------


def _no_array(fault: BaseException, full: str) -> Optional[Explanation]:
    found = re.search(
        r"problematic value is of type <class '([\w.]+)'> and was passed to the function at path (\S+?)\.?(?:\s|$)",
        full,
    )
    if found is None:
        refused = re.search(r"of type '?<class '([\w.]+)'>'? is not a valid JAX type", full)
        if refused is None or not _is_nnx(refused.group(1)):
            return None
        kind = refused.group(1)
        return Explanation(f"{_article(kind)} {kind} cannot be traced as an array", hint=_nnx_hint())
    kind, path = found.groups()
    function = re.search(r"argument to <function (\S+) at", full)
    name = function.group(1).rpartition(".")[2] if function is not None else "the jitted function"
    root = re.split(r"[\[.]", path)[0]
    message = f"`{path}` of {name} is {_article(kind)} {kind}, which cannot be traced as an array"
    if _is_nnx(kind):
        return Explanation(message, hint=_nnx_hint())
    return Explanation(
        message, hint=f"mark it static: jax.jit(…, static_argnames=({root!r},)), or leave it out of the call"
    )


def _is_nnx(kind: str) -> bool:
    """Whether a class, as `module.Name`, is of NNX objects."""
    module, _, name = kind.rpartition(".")
    found: Any = getattr(sys.modules.get(module), name, None)
    return lib.nnx is not None and isinstance(found, type) and issubclass(found, (lib.nnx.Object, lib.nnx.Variable))


def _nnx_hint() -> str:
    return (
        f"JAX {lib.jax.__version__} cannot take apart objects of Flax {lib.flax.__version__}: nnx.jit, nnx.grad and "
        "their like do, and carry updates back"
    )


def _article(word: str) -> str:
    return "an" if word[:1].lower() in "aeiou" else "a"


def _other_version(fault: BaseException, full: str) -> Optional[Explanation]:
    unexpected = re.match(r"(?:[\w.<>]*\.)?(\w+)\(\) got an unexpected keyword argument '(\w+)'", full)
    if isinstance(fault, TypeError) and unexpected is not None:
        return _other_signature(unexpected.group(1))
    missing = re.match(r"module '((?:jax|flax)[\w.]*)' has no attribute '(\w+)'", full)
    if missing is None and isinstance(fault, ImportError):
        missing = re.match(r"cannot import name '(\w+)' from '((?:jax|flax)[\w.]*)'", full)
        missing = missing and re.match(r"(\S+) (\S+)", f"{missing.group(2)} {missing.group(1)}")
    if missing is None:
        return None
    package = missing.group(1).partition(".")[0]
    version = lib.versions().get(package, "")
    name = {"jax": "JAX", "flax": "Flax"}[package]
    return Explanation(
        hint=f"{name} {version} has no {missing.group(1)}.{missing.group(2)}: the code is for another version"
    )


def _other_signature(name: str) -> Optional[Explanation]:
    for module in ("numpy", "lax", "nn", "random", "tree_util", ""):
        holder: Any = getattr(lib.jax, module) if module else lib.jax
        function: Any = getattr(holder, name, None)
        if function is None:
            continue
        try:
            parameters = ", ".join(inspect.signature(function).parameters)
        except (TypeError, ValueError):  # not every callable has a signature
            return None
        place = f"jax.{module}.{name}" if module else f"jax.{name}"
        return Explanation(hint=f"{place} of JAX {lib.jax.__version__} takes ({parameters})")
    return None


# --- containers ------------------------------------------------------------------------------------------------------


def _container(fault: BaseException, full: str) -> Optional[Explanation]:
    if isinstance(fault, (RecursionError, MemoryError)):
        return None
    rebuilding = [at for at, frame in enumerate(_frames(fault)) if _rebuilds(frame.f_code)]
    if not rebuilding:
        return None
    frame = list(_frames(fault))[rebuilding[-1] :]
    if all(is_library(inner.f_code.co_filename) for inner in frame):
        return None
    hint = (
        "JAX rebuilds containers around tracers and placeholders: check fields where the program makes the container, "
        "not in tree_unflatten and what it calls"
    )
    return Explanation(hint=hint)


def _rebuilds(code: Any) -> bool:
    name = code.co_name
    return name == "tree_unflatten" or (name in ("unflatten_func", "from_iterable") and is_library(code.co_filename))


# --- Flax ------------------------------------------------------------------------------------------------------------

_FLAX: Dict[str, Callable[["re.Match[str]"], str]] = {
    r'needs PRNG for "(\w+)"': lambda m: (
        f"where the module is applied, pass a key for it: rngs={{{m.group(1)!r}: key}}; or call it deterministically"
    ),
    r'Cannot update variable .* because collection "(\w+)" is immutable': lambda m: (
        f"where the module is applied, pass mutable=[{m.group(1)!r}]; or call it in evaluation mode"
    ),
    r'from collection "(\w+)" in .* but the collection is empty': lambda m: (
        f"the variables that the module got have no {m.group(1)!r}: initialise them with this module's init"
    ),
    r"Could not find parameter named": lambda m: "the variables are of another model: initialise them with this module",
    r"must be defined in `setup\(\)`": lambda m: "put @nn.compact on the method, or make the submodule in setup",
    r"Module instance is frozen": lambda m: (
        "a module sets attributes in setup only; self.variable or self.sow keeps values"
    ),
    r"nitializer (?:is )?expected to generate shape": lambda m: (
        "the variables were made for inputs of another shape: initialise them with these"
    ),
    r"no `rngs` argument was provided to (\w+)": lambda m: (
        f"make the layer with random streams, nnx.{m.group(1)}(…, rngs=rngs), or call model.eval() first"
    ),
    r"different trace level": lambda m: (
        "a JAX transformation changes an object that is not its argument: use nnx.jit, nnx.grad…, or pass it in"
    ),
}


def _flax(fault: BaseException, full: str) -> Optional[Explanation]:
    if type(fault).__name__ == "DescriptorAttributeError":
        cause = fault.__cause__ or fault.__context__
        if cause is not None:
            inside = _property(cause)
            where = f" in the property `{inside}`" if inside else ""
            return Explanation(f"{str(cause).rstrip('.')}{where}", hint="correct the name that the property reads")
    static = _STATIC.match(full)
    if static is not None:
        kind, name = static.groups()
        message = f"the attribute `{name}` is a plain {kind} that holds arrays or modules"
        return Explanation(
            message, hint=f"wrap it: self.{name} = nnx.List(…) or nnx.Dict(…); nnx.data(…) for anything else"
        )
    for pattern, hint in _FLAX.items():
        found = re.search(pattern, full)
        if found is not None:
            return Explanation(hint=hint(found))
    return None


_STATIC = re.compile(r"Found .*?value of type '?<class '([\w.]+)'>'? assigned to static attribute '(\w+)'", re.S)


def _property(cause: BaseException) -> Optional[str]:
    names = [frame.f_code.co_name for frame in _frames(cause) if not is_library(frame.f_code.co_filename)]
    return names[-1] if names else None


# --- meshes of more devices than there are ---------------------------------------------------------------------------

_LACKS = (
    re.compile(r"Number of devices (?P<has>\d+) must .*product of mesh_shape \((?P<wants>[\d, ]+)\)"),
    re.compile(r"cannot reshape array of size (?P<has>\d+) into shape \((?P<wants>[\d, ]+)\)"),
    re.compile(r"requires (?P<wants>\d+) (?:logical )?devices, but only (?P<has>\d+)"),
)


def _devices(fault: BaseException, full: str) -> Optional[Explanation]:
    found = next((match for match in (pattern.search(full) for pattern in _LACKS) if match is not None), None)
    if found is None:
        return None
    has, wants = int(found.group("has")), prod(int(part) for part in re.findall(r"\d+", found.group("wants")))
    if has >= wants or has != lib.jax.device_count():
        return None
    if "reshape" in found.group() and not any("devices" in frame.f_code.co_names for frame in _frames(fault)):
        return None  # any other array
    there = "is one device" if has == 1 else f"are {has} devices"
    flag = f"XLA_FLAGS=--xla_force_host_platform_device_count={wants}"
    return Explanation(hint=f"there {there} here; for {wants} on the CPU set {flag} {ENVIRONMENT}")


# --- the rest --------------------------------------------------------------------------------------------------------

_HINTS: Dict[str, str] = {
    r"Gradient only defined for scalar-output": "reduce the output with sum or mean, or use jax.jacobian",
    r"grad requires real- or complex-valued inputs": "differentiate floating-point arguments: argnums, or astype",
    r"unbound axis name": "the call needs jax.vmap(…, axis_name=…) or jax.shard_map around it",
    r"traced for jit returned a value of type": "return arrays alone, or jit the part that computes them",
}


def _rest(fault: BaseException, full: str) -> Optional[Explanation]:
    if "RESOURCE_EXHAUSTED" in full or (type(fault).__name__.endswith("RuntimeError") and "Out of memory" in full):
        return Explanation(kind="limit", limit="memory_bytes")
    if "arrays are immutable" in full:
        message = "JAX arrays are immutable: x[index] = value is not possible"
        return Explanation(message, hint="x.at[index].set(value) returns the changed array")
    for pattern, hint in _HINTS.items():
        if re.search(pattern, full):
            return Explanation(hint=hint)
    return None


_RULES = (_concrete, _mismatch, _leaked, _no_array, _flax, _other_version, _container, _devices, _rest)
