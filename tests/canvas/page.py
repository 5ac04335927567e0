"""What a page in a browser says to the daemon, without the browser."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect

from tests.lsp.client import ResponseError

SECONDS = 30.0


class Page:
    def __init__(self, socket: ClientConnection, page: str) -> None:
        self.socket = socket
        self.page = page
        """Its id, the last part of its address."""
        self.received: list[dict[str, Any]] = []
        self._ids = itertools.count(1)

    @classmethod
    @contextlib.asynccontextmanager
    async def visit(cls, address: str, **changed: Any) -> AsyncIterator[Page]:
        """Opens an address as a browser does: once with its secret, for the cookie, then the WebSocket."""
        async with cls.at(address, await asyncio.to_thread(redeem, address), **changed) as page:
            yield page

    @classmethod
    @contextlib.asynccontextmanager
    async def at(cls, address: str, cookie: str | None, **changed: Any) -> AsyncIterator[Page]:
        parts = urlsplit(address)
        headers = {"Cookie": cookie} if cookie else {}
        options: dict[str, Any] = {"origin": f"http://{parts.netloc}", "proxy": None, "max_size": None, **changed}
        async with connect(f"ws://{parts.netloc}/rpc", additional_headers=headers, **options) as socket:
            yield cls(socket, parts.path.rpartition("/")[2])

    async def send(self, method: str, params: Any = None) -> int:
        number = next(self._ids)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}
        await self.socket.send(json.dumps(message))
        return number

    async def notify(self, method: str, params: Any) -> None:
        await self.socket.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    async def answer(self, number: int | None) -> Any:
        """The result of a request; raises ResponseError."""
        message = await self.wait_for(lambda found: "method" not in found and found.get("id") == number)
        if "error" in message:
            raise ResponseError(message["error"])
        return message["result"]

    async def request(self, method: str, params: Any = None) -> Any:
        return await self.answer(await self.send(method, params))

    async def error(self, method: str, params: Any = None) -> ResponseError:
        try:
            result = await self.request(method, params)
        except ResponseError as refused:
            return refused
        raise AssertionError(f"expected an error, got {result!r}")

    async def attach(self) -> Any:
        return await self.request("tvls/canvas/attach", {"page": self.page})

    async def told(self, method: str, since: int = 0) -> Any:
        """Params of the first notification of this method, from index `since` of `received` on."""
        return (await self.wait_for(lambda found: found.get("method") == method, since))["params"]

    async def wait_for(self, fits: Any, since: int = 0) -> dict[str, Any]:
        async with asyncio.timeout(SECONDS):
            at = since
            while True:
                while at < len(self.received):
                    if fits(self.received[at]):
                        return self.received[at]
                    at += 1
                message = json.loads(await self.socket.recv())
                assert message["jsonrpc"] == "2.0"
                self.received.append(message)


def redeem(address: str) -> str:
    """Opens the address; the cookie."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    with contextlib.closing(connection):
        connection.request("GET", f"{parts.path}?{parts.query}")
        response = connection.getresponse()
        assert response.status == 200, response.read()
        return response.headers["Set-Cookie"].split(";")[0]
