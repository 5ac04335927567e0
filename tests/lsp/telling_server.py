"""`tvls serve` that says on standard error, when SIGUSR1 comes, what each of its tasks waits for."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from typing import Any

from tvls.cli import main


def waits(awaited: Any) -> Iterator[str]:
    """From a coroutine inwards: where each one is."""
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "gi_frame", None)
        yield f"{frame.f_code.co_qualname}:{frame.f_lineno}" if frame else repr(awaited)
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)


def tell(*_: object) -> None:
    for task in asyncio.all_tasks():
        sys.stderr.write(f"waits: {' > '.join(waits(task.get_coro()))}\n")
    sys.stderr.write("waits: that is all\n")
    sys.stderr.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, tell)
    sys.exit(main(["serve"]))
