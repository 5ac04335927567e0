"""Errors that a client can act on: integer codes outside the ranges of JSON-RPC and LSP, and a stable `data.kind`."""

from __future__ import annotations

from typing import Final, Literal

from tvls.protocol.types import ErrorData

ErrorKind = Literal[
    "notTrusted",
    "unsavedSource",
    "setupRequired",
    "setupInvalid",
    "environmentInvalid",
    "deviceUnavailable",
    "traceFailed",
    "traceTimeout",
    "workerCrashed",
    "limitExceeded",
    "captureGone",
    "targetNotFound",
    "nodeNotFound",
    "noWorkspace",
    "cursorInvalid",
    "captureInvalid",
    "pageGone",
    "setupChanged",
    "planRefused",
    "planGone",
    "installFailed",
]

CODES: Final[dict[str, int]] = {
    "notTrusted": -33001,
    "unsavedSource": -33002,
    "setupRequired": -33003,
    "setupInvalid": -33004,
    "environmentInvalid": -33005,
    "deviceUnavailable": -33006,
    "traceFailed": -33007,
    "traceTimeout": -33008,
    "workerCrashed": -33009,
    "limitExceeded": -33010,
    "captureGone": -33011,
    "targetNotFound": -33012,
    "nodeNotFound": -33013,
    "noWorkspace": -33014,
    "cursorInvalid": -33015,
    "captureInvalid": -33016,
    "pageGone": -33017,
    "setupChanged": -33018,
    "planRefused": -33031,
    "planGone": -33032,
    "installFailed": -33033,
}


class TvlsError(Exception):
    """A refusal with its reason and what to do next. Raised anywhere in the daemon; LSP layer and CLI show it."""

    def __init__(self, kind: ErrorKind, message: str, next_step: str, **details: object) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.message = message
        self.data = ErrorData(kind=kind, next_step=next_step, **details)  # type: ignore[arg-type]

    @property
    def code(self) -> int:
        return CODES[self.kind]

    @property
    def told(self) -> str:
        """What went wrong and what to do, as one text."""
        return f"{sentence(self.message)} {self.data.next_step}"


def sentence(text: str) -> str:
    """The text with an end, before another sentence."""
    return text if text.endswith((".", "…", "?", "!")) else f"{text}."
