"""Who gets in by HTTP, against the running daemon over real sockets."""

from __future__ import annotations

import http.client
import re
import socket

import psutil
import pytest

from tests.canvas.daemon import Daemon
from tvls.canvas import files
from tvls.canvas.files import STATIC

SECURE = {
    "Content-Security-Policy",
    "Referrer-Policy",
    "X-Content-Type-Options",
    "X-Frame-Options",
    "Cross-Origin-Opener-Policy",
    "Cross-Origin-Resource-Policy",
    "Cache-Control",
}


def test_an_address_counts_once(fresh_daemon: Daemon) -> None:
    path = fresh_daemon.address.removeprefix(f"http://{fresh_daemon.host}")
    assert fresh_daemon.get(fresh_daemon.path).status == 403
    assert fresh_daemon.get(f"{fresh_daemon.path}?token={'x' * 43}").status == 403
    assert fresh_daemon.get(f"{path}x").status == 403
    assert fresh_daemon.get(path.replace("/graph/", "/other/")).status == 403  # and it is not used up by that
    first = fresh_daemon.get(path)
    assert first.status == 200
    assert "canvas.js" in first.body
    cookie = first.headers["Set-Cookie"]
    assert {part.strip() for part in cookie.split(";")[1:]} == {"Path=/", "HttpOnly", "SameSite=Strict"}
    assert cookie.startswith(f"tvls-{fresh_daemon.port}=")
    second = fresh_daemon.get(path)
    assert second.status == 403
    assert "Set-Cookie" not in second.headers
    assert "Open the graph again" in second.body
    assert fresh_daemon.get(path, {"Cookie": first.cookie}).status == 200  # the browser reloads


def test_nothing_without_the_cookie(daemon: Daemon) -> None:
    for path in ("/", daemon.path, "/canvas.js", "/style.css", "/rpc", "/admitted", "/no-such-thing"):
        for cookie in (None, "", f"tvls-{daemon.port}=", f"tvls-{daemon.port}=wrong", daemon.cookie[:-1]):
            assert daemon.get(path, {"Cookie": cookie}).status == 403, (path, cookie)
    name, _, value = daemon.cookie.partition("=")
    assert daemon.get("/admitted", {"Cookie": f"other-{name}={value}"}).status == 403
    assert daemon.get("/admitted", {"Cookie": f"a=1; {daemon.cookie}; b=2"}).status == 204


def test_the_page_and_its_parts(daemon: Daemon) -> None:
    for path, kind in ((daemon.path, "text/html"), ("/canvas.js", "text/javascript"), ("/style.css", "text/css")):
        answer = daemon.get(path, {"Cookie": daemon.cookie})
        assert answer.status == 200
        assert answer.headers.get_content_type() == kind
    assert answer.body == (STATIC / "style.css").read_text()
    assert daemon.get("/canvas.js", {"Cookie": daemon.cookie}).body == (STATIC / "canvas.js").read_text()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "127.0.0.2",
        "0.0.0.0",  # noqa: S104 (not bound, sent)
        "",
        "127.0.0.1:80@evil.example",
        "127.0.0.1:80:80",
        None,
    ],
)
def test_a_name_that_was_bent_to_this_machine(daemon: Daemon, host: str | None) -> None:
    """DNS rebinding: another site's name leads here, and the browser says so in Host."""
    for path in (daemon.path, "/rpc", "/canvas.js"):
        assert daemon.get(path, {"Host": host, "Cookie": daemon.cookie}).status == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:4000", "[::1]:4000", "127.0.0.1:4000", "127.0.0.1"])
def test_a_forwarded_port(daemon: Daemon, host: str) -> None:
    assert daemon.get(daemon.path, {"Host": host, "Cookie": daemon.cookie}).status == 200
    assert daemon.get(daemon.path, {"Host": host, "Cookie": daemon.cookie, "Origin": f"http://{host}"}).status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://{host}", "http://127.0.0.1:1", ""])
def test_another_origin(daemon: Daemon, origin: str) -> None:
    """Also another server on this machine, to which a browser sends the same cookies."""
    headers: dict[str, str | None] = {"Cookie": daemon.cookie, "Origin": origin.format(host=daemon.host)}
    for path in (daemon.path, "/canvas.js", "/rpc", "/admitted"):
        assert daemon.get(path, headers).status == 403


@pytest.mark.parametrize(
    "path",
    [
        "/../server.py",
        "/..%2fserver.py",
        "/%2e%2e/server.py",
        "/static/../../__init__.py",
        "/graph/../../../etc/passwd",
        "//etc/passwd",
        "/./canvas.js",
        "/canvas.js/",
        "/canvas.js%00.css",
        "/..\\server.py",
        "/" + "x" * 4000,
    ],
)
def test_no_path_leads_out(daemon: Daemon, path: str) -> None:
    answer = daemon.get(path, {"Cookie": daemon.cookie})
    if path.startswith("/graph/"):  # the address of a page, whatever is behind it: the page itself
        assert answer.body == (STATIC / "index.html").read_text()
    else:
        assert answer.status in (403, 404)
        assert "import" not in answer.body
        assert "root:" not in answer.body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"])
def test_only_get(daemon: Daemon, method: str) -> None:
    answer = daemon.get(daemon.path, {"Cookie": daemon.cookie}, method)
    assert answer.status == 405
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_headers_of_every_answer(daemon: Daemon) -> None:
    cookie = daemon.cookie
    answers = [
        daemon.get(daemon.path, {"Cookie": cookie}),
        daemon.get("/canvas.js", {"Cookie": cookie}),
        daemon.get("/nothing", {"Cookie": cookie}),
        daemon.get("/rpc", {"Cookie": cookie, "Origin": f"http://{daemon.host}"}),  # no WebSocket
        daemon.get("/", {}),
        daemon.get("/", {"Host": "evil.example"}),
        daemon.get("/", {}, "POST"),
    ]
    assert [answer.status for answer in answers] == [200, 200, 404, 426, 403, 403, 405]
    for answer in answers:
        assert set(answer.headers) >= SECURE
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "Server" not in answer.headers
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";"))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert "unsafe" not in answer.headers["Content-Security-Policy"]


def test_the_page_holds_nothing_inline() -> None:
    """Its policy would refuse it: no script or style in the document, and nothing from elsewhere."""
    page = (STATIC / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\son\w+=|https?://", page)


def test_only_this_machine_is_listened_to(daemon: Daemon) -> None:
    addresses = {
        connection.laddr.ip
        for connection in psutil.Process(daemon.process.pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert addresses == {"127.0.0.1"}


def test_what_is_no_http(daemon: Daemon) -> None:
    """Broken, endless and silent clients: each is answered or dropped, and the next one is served."""
    silent = socket.create_connection(("127.0.0.1", daemon.port))
    for data in (
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET\r\n\r\n",
        b"GET / HTTP/9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9999999999\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", daemon.port), timeout=20) as client:
            try:
                client.sendall(data)
                answer = client.recv(100)
            except ConnectionError:
                answer = b""
            assert not answer.startswith(b"HTTP/1.1 200")
    assert daemon.get("/admitted", {"Cookie": daemon.cookie}).status == 204
    silent.close()


def test_it_ends_with_its_input(fresh_daemon: Daemon) -> None:
    """Told so, `tvls open` ends when its standard input does, and the port with it."""
    assert fresh_daemon.process.stdin is not None
    fresh_daemon.process.stdin.close()
    assert fresh_daemon.process.wait(20) == 0
    with pytest.raises(ConnectionError):
        http.client.HTTPConnection("127.0.0.1", fresh_daemon.port, timeout=5).request("GET", "/")


def test_names_of_files() -> None:
    assert files.is_built()
    assert files.read("index.html") is not None
    assert files.read("../files.py") is None
    assert files.read("") is None
