"""Looking at modules without running anything of theirs."""

from __future__ import annotations

from typing import Any, Optional


def file_of(module: object, *, ask: bool = False) -> Optional[str]:
    """`__file__` of what stands in `sys.modules`; None where it has none, or none that is to be had.

    Read past `__getattr__`, unless `ask`: a lazy module would load itself because somebody looked.
    """
    try:
        namespace: Any = object.__getattribute__(module, "__dict__")
        filename = namespace.get("__file__")
        if filename is None and ask:
            filename = getattr(module, "__file__", None)
    except BaseException:  # noqa: BLE001 - anything may stand there, and a property of it may raise whatever it likes
        return None
    return filename if type(filename) is str else None
