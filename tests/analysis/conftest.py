from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tvls.analysis.client import Analysis


@pytest_asyncio.fixture
async def analysis() -> AsyncIterator[Analysis]:
    """A client with a real process behind it."""
    client = Analysis()
    yield client
    await client.aclose()
