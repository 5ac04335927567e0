"""What a request answers where the analysis process cannot."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from tvls.analysis.client import AnalysisError
from tvls.protocol.errors import TvlsError


@contextlib.contextmanager
def analysis_faults() -> Generator[None]:
    """Within, an AnalysisError becomes a TvlsError."""
    try:
        yield
    except AnalysisError as error:
        raise TvlsError("workerCrashed", f"Models could not be looked for: {error}", "Try again.") from error
