"""What the daemon answers to HTTP: the page with its script and style, and who may open the WebSocket."""

from __future__ import annotations

import http
import logging
from typing import Final
from urllib.parse import parse_qs, urlsplit

from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from tvls.canvas import files
from tvls.canvas.admission import Admission, host_of, same_origin

logger = logging.getLogger(__name__)

RPC: Final = "/rpc"
GRAPH: Final = "/graph/"

SECURITY: Final = {
    # Nothing from elsewhere, nothing inline, no eval. Pictures of the graph are made in the page: `blob:` and `data:`.
    "Content-Security-Policy": "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' blob: data:",
            "connect-src 'self'",
            "worker-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_REFUSED: Final = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>TensorViz</title>"
    "<h1>This address does not count any more</h1>"
    "<p>Each address opens one browser, once, and ends with the server that gave it out. Open the graph again from your"
    " editor, or run <code>tvls open</code> again.</p>"
)


def answer(request: Request, admission: Admission, port: int) -> Response | None:
    """The response to a request; None for the one that may become a WebSocket."""
    if request.method != "GET":
        return _text(http.HTTPStatus.METHOD_NOT_ALLOWED, "Only GET is answered.")
    host = host_of(request.headers)
    if host is None:
        return _text(http.HTTPStatus.FORBIDDEN, "The Host header does not name this machine.")
    origins = request.headers.get_all("Origin")
    if origins and not same_origin(origins, host):
        return _text(http.HTTPStatus.FORBIDDEN, "Another site asks.")
    try:
        address = urlsplit(request.path)
        tokens = parse_qs(address.query, max_num_fields=8).get("token", [])
    except ValueError:
        return _text(http.HTTPStatus.BAD_REQUEST, "The address cannot be read.")
    invited = address.path.startswith(GRAPH) and len(tokens) == 1 and admission.redeem(tokens[0])
    if not invited and not admission.admitted(request.headers, port):
        return _response(http.HTTPStatus.FORBIDDEN, _REFUSED.encode(), "text/html; charset=utf-8")
    extra = {"Set-Cookie": admission.cookie(port)} if invited else {}
    return _admitted(address.path, bool(origins), extra)


def _admitted(path: str, has_origin: bool, extra: dict[str, str]) -> Response | None:
    if path == RPC:
        # A browser always says where a WebSocket comes from.
        return None if has_origin else _text(http.HTTPStatus.FORBIDDEN, "A WebSocket needs an Origin.")
    if path == "/admitted":
        return _response(http.HTTPStatus.NO_CONTENT, b"", None)
    if path.startswith(GRAPH):
        return _file("index.html", extra)
    return _file(path.removeprefix("/"), {})


def _file(name: str, extra: dict[str, str]) -> Response:
    found = files.read(name)
    if found is None:
        return _text(http.HTTPStatus.NOT_FOUND, "There is nothing at this address.")
    return _response(http.HTTPStatus.OK, *found, extra)


def _text(status: http.HTTPStatus, text: str) -> Response:
    logger.debug("refused: %s", text)
    return _response(status, f"{text}\n".encode(), "text/plain; charset=utf-8")


def _response(status: http.HTTPStatus, body: bytes, kind: str | None, extra: dict[str, str] | None = None) -> Response:
    headers = Headers({"Connection": "close", "Content-Length": str(len(body)), **(extra or {})})
    if kind is not None:
        headers["Content-Type"] = kind
    return Response(status.value, status.phrase, headers, body)


def secured(response: Response) -> Response:
    """With the headers that every answer has."""
    for name, value in SECURITY.items():
        response.headers[name] = value
    return response
