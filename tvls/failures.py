"""A failed trace as people see it: the error of the request, and reports for the lines of their files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tvls.capture.document import Failure, Frame
from tvls.protocol.errors import ErrorKind, TvlsError, sentence
from tvls.protocol.types import FrameInfo, SetupProblem

_SHORT: Final = 300
"""Characters of a message in one line, also of a worker that sends longer ones."""

_KINDS: Final[dict[str, ErrorKind]] = {
    "exception": "traceFailed",
    "device": "deviceUnavailable",
    "limit": "limitExceeded",
    "environment": "environmentInvalid",
}
"""Failure kind in the document → kind of error. Every other kind is a mistake in the setup."""

_PHASES: Final = {
    "import": "while importing it",
    "init": "while building the model",
    "inputs": "while making the inputs",
    "trace": "while tracing it",
    "encode": "while writing the graph down",
}


@dataclass(frozen=True)
class FailureReport:
    """What is shown on the lines of one file. Lines are 1-based and of now, columns UTF-8 bytes."""

    path: Path
    frame: Frame
    message: str
    kind: str
    target: str
    profile: str | None
    """Where the model has several."""
    callers: list[tuple[Path, Frame]]
    """Further workspace frames, from the inside out."""
    current: bool
    """Whether the code, the setup and the interpreter are those that failed."""


def short_message(failure: Failure) -> str:
    """`TypeError: dot_general requires …`: one line, with the exception's type where it is one of the program."""
    detail = failure["failure"]
    first = " ".join(detail["message"].split())
    name = detail["type"].rpartition(".")[2]
    text = f"{name}: {first}" if detail["kind"] == "exception" and first else first or name
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"


def report_message(failure: Failure) -> str:
    """The short message and, on a line of its own, what to try."""
    hint = failure["failure"].get("hint")
    return short_message(failure) + (f"\n{_sentence(hint)}" if hint else "")


def _sentence(text: str) -> str:
    """A hint as a sentence. A name that it begins with stays as it is written."""
    word = text.partition(" ")[0]
    start = text if word != word.lower() or not word.isalpha() else text[0].upper() + text[1:]
    return sentence(start)


def failure_error(failure: Failure) -> TvlsError:
    detail = failure["failure"]
    kind = _KINDS.get(detail["kind"], "setupInvalid")
    name = failure["target"]["qualname"]
    message = short_message(failure)
    frames = [
        FrameInfo(path=frame["path"], workspace=frame["workspace"], function=frame["function"], line=frame["line"])
        for frame in detail["frames"]
    ]
    # The innermost line of the workspace; of a failure wholly inside libraries, the innermost line at all.
    place = next((frame for frame in frames if frame.workspace), frames[0] if frames else None)
    at = f" at {place.path}:{place.line}" if place else ""
    if kind == "traceFailed":
        text = f"{name} failed {_PHASES[detail['phase']]}{at}: {message}"
        hint = detail.get("hint")
        if detail["type"] == "ModuleNotFoundError":
            step = "Correct the import, or select another interpreter."
        else:
            step = "Correct the code or the setup, and open the graph again."
        step = f"{_sentence(hint)} {step}" if hint else step
        return TvlsError(kind, text, step, phase=detail["phase"], exception=detail["type"], frames=frames)
    if kind == "limitExceeded":
        limit = detail.get("limit", "memory_bytes")
        step = f"Trace a smaller part, or raise the setting `tvls.limits.{_camel(limit)}`."
        return TvlsError(
            kind, f"{name} is too large: {message}.", step, phase=detail["phase"], limit=limit, frames=frames
        )
    if kind == "deviceUnavailable":
        library = {"jax": "JAX", "torch": "PyTorch"}[failure["framework"]]
        step = f"Choose another device in the setup, or install a {library} that has it in the selected Python."
        return TvlsError(kind, message, step, phase=detail["phase"])
    if kind == "environmentInvalid":
        step = "Repair the selected Python environment, or select another interpreter."
        return TvlsError(kind, message, step, phase=detail["phase"], exception=detail["type"], frames=frames)
    key = detail.get("key")
    step = f"Correct `{key}` in the setup." if key else "Correct the setup."
    hint = detail.get("hint")
    if hint:
        step = f"{_sentence(hint)} {step}"
    problems = [SetupProblem(key=key or "", message=message)]
    return TvlsError(
        "setupInvalid",
        f"{name} cannot be traced{at}: {message}",
        step,
        phase=detail["phase"],
        problems=problems,
        frames=frames,
    )


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def moved(frame: Frame, line: int) -> Frame:
    """The frame at another first line, with its extent kept."""
    end = frame.get("endLine")
    return frame | {"line": line} | ({} if end is None else {"endLine": end + line - frame["line"]})  # pyright: ignore
