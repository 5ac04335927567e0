"""Limits of one capture. Each excess is a failure of its own, named after the field here."""

from __future__ import annotations

from dataclasses import dataclass


class LimitExceeded(Exception):  # noqa: N818  (an outcome, not a mistake)
    """A capture grew past one of its limits.

    `limit` is the field of `Limits`, `allowed` its value, `found` what the program needs (where known).
    """

    def __init__(self, limit: str, allowed: int, found: int) -> None:
        super().__init__(f"the capture needs {found:,} {limit.replace('_', ' ')}; the limit is {allowed:,}")
        self.limit = limit
        self.allowed = allowed
        self.found = found


@dataclass(frozen=True)
class Limits:
    operations: int = 200_000
    scopes: int = 100_000
    values: int = 1_000_000
    encoded_bytes: int = 256 * 1024 * 1024
    seconds: float = 60.0
    memory_bytes: int = 8 * 1024 * 1024 * 1024
    """Address space that the trace may add to what the preloaded worker already maps."""
    input_arrays: int = 256
    input_elements: int = 4_194_304
