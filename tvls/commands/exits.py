"""Exit codes of the `tvls` command."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
FAILED: Final = 1
"""The trace or the request failed."""
DIFFERENT: Final = 1
"""The graphs that were compared are not the same."""
USAGE: Final = 2
MISSING: Final = 3
"""A person has to give something: trust, a setup, an environment, a save."""
INTERRUPTED: Final = 130

MISSING_KINDS: Final = frozenset(
    {"notTrusted", "unsavedSource", "setupRequired", "setupInvalid", "environmentInvalid", "noWorkspace"}
)
