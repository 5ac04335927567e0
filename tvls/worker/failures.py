"""What a failure document says of an exception: one line, what to try, and where in the user's program."""

from __future__ import annotations

import collections
import dataclasses
import os
import re
import sys
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, cast

from tvls.capture.document import FailureDetail, Frame, Phase
from tvls.capture.limits import LimitExceeded, Limits
from tvls.worker.factories import Place
from tvls.worker.frames import make_frame, traceback_frames
from tvls.worker.job import SetupFault
from tvls.worker.places import Places

_LONGEST = 20_000
_READ = 500_000
"""Characters of a message that are looked at: every pattern is searched in all of them."""
_SHORT = 300
_MOST_FRAMES = 60
_PAGE = re.compile(r"\s*\((?:[Ss]ee )?https?://[^\s)]*\)|\s*(?:For more guidance, )?\b[Ss]ee:? https?://\S+")
_CUT_OFF = re.compile(r"\n\s*\n|\n\s*(?=[-=]{5,})")


@dataclasses.dataclass
class Explanation:
    """What a framework knows of an exception better than the exception itself says. All of it is optional."""

    message: Optional[str] = None
    """One line in place of the exception's own."""
    detail: Optional[str] = None
    """The whole message, where something in it is of the worker and not of the program."""
    hint: Optional[str] = None
    first: Optional[Tuple[str, str, int]] = None
    """File, function and line to show in front of the traceback: the code at fault, which is not on the stack."""
    kind: Optional[str] = None
    limit: Optional[str] = None


class FrameworkMissing(Exception):  # noqa: N818  (a state of the environment)
    """The framework cannot be imported in this interpreter."""


def describe(
    fault: BaseException, phase: str, places: Places, limits: Limits, adapter: Any, made_by: Mapping[str, Place]
) -> FailureDetail:
    """The `failure` of a document. `adapter` is the framework's, or None where it could not be loaded; `made_by` are
    the factories that were called, by their key in the setup."""
    try:
        return _describe(fault, phase, places, limits, adapter, made_by)
    except BaseException as second:  # noqa: BLE001 - an exception of the user's may raise at every question about it
        return _bare(fault, second, phase, places)


def _bare(fault: BaseException, second: BaseException, phase: str, places: Places) -> FailureDetail:
    """What can be said without asking the exception anything."""
    try:
        traceback = object.__getattribute__(fault, "__traceback__")
        frames = traceback_frames(places, traceback)
    except BaseException:  # noqa: BLE001 - it hides its traceback too
        frames = []
    return {
        "kind": "exception",
        "type": type_name(fault),
        "message": f"(the exception cannot be described: looking at it raised {type_name(second)})",
        "frames": frames,
        "phase": cast("Phase", phase),
    }


def _describe(
    fault: BaseException, phase: str, places: Places, limits: Limits, adapter: Any, made_by: Mapping[str, Place]
) -> FailureDetail:
    machinery: Tuple[str, ...] = getattr(adapter, "MACHINERY", ())
    full = _text(fault)
    known = _explained(fault, full, adapter) or _plain(fault, full, places) or Explanation()
    first = [] if known.first is None else [make_frame(places.portable(known.first[0]), *known.first[1:])]
    detail: FailureDetail = {
        "kind": known.kind or "exception",
        "type": type_name(fault),
        "message": one_line(places.clean(known.message or full)),
        "frames": first + _frames(places, fault, machinery),
        "phase": cast("Phase", phase),
    }
    cleaned = places.clean(_cut(known.detail or full))
    if cleaned.strip() != detail["message"]:
        detail["detail"] = cleaned
    if known.hint:
        detail["hint"] = one_line(places.clean(known.hint))
    if known.limit:
        detail["limit"] = known.limit
    if isinstance(fault, LimitExceeded):
        detail["kind"] = "limit"
        detail["limit"] = fault.limit
    elif isinstance(fault, SetupFault):
        detail["kind"] = fault.kind
        detail["message"] = places.clean(fault.message)
        factory = _factory_of(fault, made_by)  # any other mistake of the setup has no place in the program
        detail["frames"] = [] if factory is None else [make_frame(places.portable(factory[0]), *factory[1:])]
        if fault.key is not None:
            detail["key"] = fault.key
        if fault.limit is not None:
            detail["limit"] = fault.limit
        if fault.hint is not None:
            detail["hint"] = one_line(places.clean(fault.hint))
    elif isinstance(fault, FrameworkMissing):
        detail["kind"] = "environment"
    if detail["kind"] == "limit" and detail.get("limit") == "memory_bytes":
        detail["message"] = f"the trace needs more memory than the limit of {limits.memory_bytes:,} bytes allows"
    return detail


def _factory_of(fault: SetupFault, made_by: Mapping[str, Place]) -> Optional[Place]:
    """The factory whose result, or whose arguments, are at fault."""
    return next((place for key, place in made_by.items() if fault.key in (key, f"{key}.kwargs")), None)


def one_line(text: str) -> str:
    """The first paragraph of a message as one line, without references to further pages, at most 300 characters."""
    first = _CUT_OFF.split(_PAGE.sub("", text.strip()).strip(), maxsplit=1)[0]
    line = " ".join(first.split())
    line = line.rstrip(" :")
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"


def type_name(fault: BaseException) -> str:
    """Qualified name of the exception's type; of a builtin one the name alone."""
    name, module = (str(type.__getattribute__(type(fault), part)) for part in ("__qualname__", "__module__"))
    return name if module == "builtins" else f"{module}.{name}"


def _text(fault: BaseException) -> str:
    try:
        # A subclass of `str` would bring methods of its own.
        text = str.__str__(str(fault.msg if isinstance(fault, SyntaxError) else fault))
        return text if len(text) <= _READ else f"{text[:_READ]}… ({len(text) - _READ:,} more characters)"
    except BaseException as second:  # noqa: BLE001 - user code: `__str__` of an exception may do anything
        return f"(the exception's own message failed with {type_name(second)})"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text) - _LONGEST:,} more characters)"


def _explained(fault: BaseException, full: str, adapter: Any) -> Optional[Explanation]:
    explain = getattr(adapter, "explain", None)
    if explain is None or isinstance(fault, (LimitExceeded, SetupFault, FrameworkMissing)):
        return None
    try:
        return explain(fault, full)
    except BaseException as second:  # noqa: BLE001 - an explanation must not take the place of the failure that it explains
        print(f"tvls: {type_name(fault)} could not be explained: {type_name(second)}: {second}", file=sys.stderr)
        return None


def lacks_argument(detail: FailureDetail) -> bool:
    """Whether Python refused a call for an argument that was not given."""
    return detail["type"] == "TypeError" and "missing" in detail["message"] and "required" in detail["message"]


def hint_of_tables(detail: FailureDetail, setup: Mapping[str, Any]) -> Optional[str]:
    """What to try where code asks a dictionary, as which a table of the setup came, for an attribute; or None."""
    if detail["type"] != "AttributeError" or "'dict' object has no attribute " not in detail["message"]:
        return None
    tables: List[str] = []
    for part in ("init", "inputs"):
        call: Dict[str, Any] = setup.get(part) or {}
        given: List[Tuple[str, Any]] = [(f"{part}.args[{at}]", value) for at, value in enumerate(call.get("args", ()))]
        given += [(f"{part}.kwargs.{name}", value) for name, value in call.get("kwargs", {}).items()]
        tables += [name for name, value in given if _is_table(value)]
    if not tables:
        return None
    return (
        f"`{tables[0]}` is a table of the setup, which comes as a dictionary: annotate the parameter with its "
        'dataclass, give { kind = "object", class = "module:Class", fields = { … } }, or have a factory make the model'
    )


def _is_table(value: object) -> bool:
    return isinstance(value, dict) and cast("Dict[str, Any]", value).get("kind", "dict") == "dict"


# --- exceptions of Python itself -------------------------------------------------------------------------------------


def _plain(fault: BaseException, full: str, places: Places) -> Optional[Explanation]:
    if isinstance(fault, (LimitExceeded, SetupFault, FrameworkMissing)):
        return None
    if isinstance(fault, MemoryError):
        return Explanation(kind="limit", limit="memory_bytes")
    if isinstance(fault, RecursionError):
        again = _repeated(fault, places)
        hint = "stop the recursion, or raise the limit with sys.setrecursionlimit"
        return Explanation(hint=f"{again} calls itself: {hint}" if again else hint)
    if isinstance(fault, SystemExit):
        hint = "keep what a script does on its own behind `if __name__ == '__main__':`"
        return Explanation(f"the code ended the process: sys.exit({fault.code!r})", hint=hint)
    if isinstance(fault, ModuleNotFoundError) and fault.name:
        if type_name(fault) == "importlib.metadata.PackageNotFoundError":  # its name may be a whole message
            return Explanation(hint="install the distribution that it names in the selected Python")
        return Explanation(hint=_missing_module(fault.name, places))
    if isinstance(fault, ImportError) and "relative import" in full:
        return Explanation(
            hint="the file imports relatively: open a folder around its package, as its imports need the package's name"
        )
    if isinstance(fault, ImportError) and "circular import" in full:
        return Explanation(
            hint="two modules import each other: move one of the imports into the function that needs it"
        )
    return None


def _repeated(fault: BaseException, places: Places) -> Optional[str]:
    """The function that most of the frames are of: one of the workspace, where it repeats any."""
    own: List[str] = []
    others: List[str] = []
    traceback = fault.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        names = others if places.workspace_path(code.co_filename) is None else own
        names.append(getattr(code, "co_qualname", code.co_name))
        traceback = traceback.tb_next
    for names in (own, others):
        [(common, count)] = collections.Counter(names).most_common(1) or [("", 0)]
        if count > 10:
            return f"`{common}`"
    return None


def _missing_module(name: str, places: Places) -> str:
    top, *rest = name.split(".")
    found = _in_workspace(os.path.join(*([top, *rest])), places.workspace)
    if found is not None:
        folder = os.path.dirname(found) or "."
        return f"{found} is in the workspace, but {folder} is not among the folders that imports are searched in"
    if top in sys.modules and rest:
        return f"`{top}` is installed and has no `{'.'.join(rest)}`: another version of it may be needed"
    return f"install the package that provides `{top}` in the selected Python"


def _in_workspace(relative: str, workspace: str, depth: int = 3, most: int = 2000) -> Optional[str]:
    """A file or package of that module's name in the workspace, close to its top."""
    seen = 0
    for folder, folders, files in os.walk(workspace):
        below = os.path.relpath(folder, workspace)
        level = 0 if below == "." else below.count(os.sep) + 1
        ignored = level >= depth
        folders[:] = (
            [] if ignored else sorted(f for f in folders if not f.startswith((".", "__")) and f != "node_modules")
        )
        seen += len(files)
        if seen > most:
            return None
        base = os.path.join(folder, relative)
        for candidate in (base + ".py", os.path.join(base, "__init__.py")):
            if os.path.isfile(candidate) and "site-packages" not in candidate:
                place = candidate if candidate.endswith(relative + ".py") else base
                return os.path.relpath(place, workspace).replace(os.sep, "/")
    return None


# --- frames ----------------------------------------------------------------------------------------------------------


def _frames(places: Places, fault: BaseException, machinery: Sequence[str]) -> List[Frame]:
    frames = _all_frames(places, fault)
    if not frames or not frames[0]["workspace"]:
        placeless = not any(frame["workspace"] for frame in frames)
        for earlier, stated in _replaced(fault):
            own = _all_frames(places, earlier)
            # A library that raises anew leaves the innermost frames of the user to the exception that it replaces. One
            # that the user's code handled is not the fault.
            if any(frame["workspace"] for frame in own) and (stated or placeless or not own[-1]["workspace"]):
                lines = {_line(frame) for frame in own}
                frames = own + [frame for frame in frames if _line(frame) not in lines]
                break
    if isinstance(fault, RecursionError) and any(frame["workspace"] for frame in frames):
        while not frames[0]["workspace"]:  # whatever happened to be called at the limit
            del frames[0]
    kept = [frame for frame in frames if not _is_machinery(frame, machinery)]
    return _without_repeats(kept or frames)


def _all_frames(places: Places, fault: BaseException) -> List[Frame]:
    return _syntax_frame(places, fault) + traceback_frames(places, fault.__traceback__)


def _replaced(fault: BaseException) -> Iterable[Tuple[BaseException, bool]]:
    """Exceptions that led to this one, and whether the one that followed names each as its cause."""
    seen = {id(fault)}
    while True:
        stated = fault.__cause__ is not None
        earlier = fault.__cause__ or fault.__context__
        if earlier is None or id(earlier) in seen:
            return
        seen.add(id(earlier))
        yield earlier, stated
        fault = earlier


def _is_machinery(frame: Frame, machinery: Sequence[str]) -> bool:
    if frame["workspace"]:
        return False
    return frame["path"].partition("/")[0] in machinery or frame["path"].startswith("<")


def _without_repeats(frames: List[Frame]) -> List[Frame]:
    """A recursion without end says nothing more after its first round; the callers that led to it do."""
    if len(frames) <= _MOST_FRAMES:
        return frames
    known = {_line(frame): frame for frame in reversed(frames)}
    return list(reversed(list(known.values())))[:_MOST_FRAMES]


def _line(frame: Frame) -> Tuple[str, str, int]:
    return frame["path"], frame["function"], frame["line"]


def _syntax_frame(places: Places, fault: BaseException) -> List[Frame]:
    """The line that does not parse: no frame ran there, yet it is the place to show."""
    if not isinstance(fault, SyntaxError) or fault.filename is None or fault.lineno is None:
        return []
    column = None
    if fault.offset is not None and fault.offset > 0:
        before = (fault.text or "")[: fault.offset - 1]
        column = len(before.encode("utf-8", "surrogatepass")) if fault.text else fault.offset - 1
    return [make_frame(places.portable(fault.filename), "<module>", fault.lineno, column)]
