"""A whole client of the protocol: opens a model, and prints its graph. Nothing but the standard library.

    python examples/minimal_client.py model.py Net --trust --python .venv/bin/python

Trust runs the code of the file's folder. What the model needs to be called comes from the `tensorviz.toml` beside it,
or from --setup: '{"inputs": {"args": [{"kind": "tensor", "shape": [2, 8], "dtype": "float32"}]}}'.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Refused(Exception):  # noqa: N818
    """An error answer: what happened, and what the person can do."""


class Client:
    def __init__(self, command: list[str]) -> None:
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._requests = 0

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._server.stdin  # noqa: S101
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._server.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._server.stdout  # noqa: S101
        length = 0
        while (line := self._server.stdout.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise Refused("The server ended. Its standard error says why.")
        return json.loads(self._server.stdout.read(length))

    def notify(self, method: str, params: Any = None) -> None:
        self._send({"method": method, "params": params or {}})

    def request(self, method: str, params: Any = None) -> Any:
        self._requests += 1
        self._send({"id": self._requests, "method": method, "params": params or {}})
        while True:
            message = self._read()
            if "method" in message and "id" in message:  # a question; this client has announced that it answers none
                self._send({"id": message["id"], "error": {"code": -32601, "message": "not supported"}})
            elif message.get("method") == "window/showMessage":
                print(message["params"]["message"], file=sys.stderr)
            elif message.get("id") == self._requests:
                break
        if "error" in message:
            error = message["error"]
            raise Refused(f"{error['message']} {(error.get('data') or {}).get('nextStep', '')}".strip())
        return message["result"]

    def close(self) -> None:
        self.request("shutdown")
        self.notify("exit")
        self._server.wait(10)


def pages(client: Client, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
    while True:
        page = client.request("tvls/graph/view", params)
        yield page
        if "nextCursor" not in page:
            return
        params = {**params, "cursor": page["nextCursor"]}


def show(client: Client, capture: dict[str, Any], depth: int) -> None:
    """Prints the nodes in order; scopes are expanded so many levels deep."""
    asked: dict[str, Any] = {"captureId": capture["captureId"], "expanded": []}
    found = list(pages(client, asked))
    for _ in range(depth):
        asked["expanded"] = [n["id"] for page in found for n in page["nodes"] if n["kind"] == "scope"]
        found = list(pages(client, asked))
    sources: dict[str, list[str]] = {}
    levels = {"": -1}
    names = {node["id"]: node["label"] for page in found for node in page["nodes"]}
    for edge in (edge for page in found for edge in page["edges"]):
        sources.setdefault(edge["target"], []).append(names[edge["source"]])
    page = found[0]
    print(f"{capture['name']}: {page['evidence']}, {page['freshness']}, coverage {page['coverage']['status']}")
    for node in (node for page in found for node in page["nodes"]):
        level = levels[node["id"]] = levels[node.get("parent", "")] + 1
        results = ", ".join(f"{value['dtype']}{value['shape']}" for value in node.get("outputs", []))
        reads = ", ".join([*sources.get(node["id"], []), *(value["name"] for value in node.get("state", []))])
        text = node["label"] if node.get("expanded") else f"{node['label']}({reads}) -> {results}"
        print("  " * level + f"{text}   {node.get('source', '')}".rstrip())


def main() -> int:
    parser = argparse.ArgumentParser(description="Opens a model and prints its graph.")
    parser.add_argument("file", type=Path)
    parser.add_argument("name", nargs="?", help="absent: prints the names of the models in the file")
    parser.add_argument("--server", default="tvls serve")
    parser.add_argument("--python", type=Path, help="interpreter with the libraries of the model")
    parser.add_argument("--setup", type=json.loads, help="values that the model needs, as JSON")
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--trust", action="store_true", help="the code of the file's folder may run")
    options = parser.parse_args()
    file = options.file.resolve()
    try:
        client = Client(options.server.split())
    except FileNotFoundError:
        print(f"there is no {options.server.split()[0]} on PATH; --server COMMAND names it", file=sys.stderr)
        return 1
    try:
        client.request(
            "initialize",
            {
                "processId": None,
                "rootUri": None,
                "capabilities": {},
                "workspaceFolders": [{"uri": file.parent.as_uri(), "name": file.parent.name}],
                "initializationOptions": {"interpreter": str(options.python.absolute())} if options.python else {},
            },
        )
        client.notify("initialized")
        if options.name is None:
            for target in client.request("tvls/targets/list", {"textDocument": {"uri": file.as_uri()}})["targets"]:
                print(f"{target['name']}  {target['kind']}  line {target['range']['start']['line'] + 1}")
        else:
            if options.trust:
                client.request("tvls/trust/grant", {"folder": file.parent.as_uri()})
            asked = {"target": {"uri": file.as_uri(), "name": options.name}}
            asked |= {"setup": options.setup} if options.setup else {}
            show(client, client.request("tvls/graph/open", asked)["capture"], options.depth)
        client.close()
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
