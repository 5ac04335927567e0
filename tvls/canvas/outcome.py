"""What a page is told of a request to open its graph."""

from __future__ import annotations

from dataclasses import dataclass

from tvls.protocol import types as t
from tvls.protocol import types_page as p
from tvls.protocol.errors import TvlsError


@dataclass(frozen=True)
class Outcome:
    """What came of a request to open, so far: one of them, or a capture from before and nothing of this one."""

    capture: t.CaptureInfo | None = None
    error: p.OpenError | None = None
    phase: str | None = None


def failed(error: TvlsError) -> Outcome:
    return Outcome(error=p.OpenError(code=error.code, message=error.message, data=error.data))
