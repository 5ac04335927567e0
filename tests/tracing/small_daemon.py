"""A process with a worker pool and one endless trace, which ends at the end of its standard input."""

import asyncio
import sys
from pathlib import Path

from tests.tracing.workers import FAKE_WORKER, environment_of, request_for
from tvls.tracing.pool import WorkerPool


async def main() -> None:
    workspace = Path(sys.argv[1])
    pool = WorkerPool(script=FAKE_WORKER)
    environment = environment_of(sys.executable, workspace)
    trace = asyncio.create_task(pool.trace(environment, request_for(workspace), on_progress=lambda phase: None))
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()
    trace.cancel()


if __name__ == "__main__":
    asyncio.run(main())
