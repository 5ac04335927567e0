"""Who may talk to the daemon over HTTP: a browser that came by an address which the daemon gave out."""

from __future__ import annotations

import hmac
import re
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from websockets.datastructures import Headers

OUTSTANDING: Final = 64
"""Addresses that were given out and not opened yet; the oldest stop counting."""

# Names that only this machine answers to. A page that has its own name resolve to this machine sends that name.
_LOOPBACK: Final = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)


class Admission:
    """Secrets for one run of the server: one for each address, which counts once, and one for the cookie."""

    def __init__(self) -> None:
        self._secret = secrets.token_urlsafe(32)
        self._tokens: OrderedDict[str, None] = OrderedDict()

    def issue(self) -> str:
        token = secrets.token_urlsafe(32)
        self._tokens[token] = None
        while len(self._tokens) > OUTSTANDING:
            self._tokens.popitem(last=False)
        return token

    def redeem(self, token: str) -> bool:
        """Whether the token was given out. It does not count a second time."""
        found = [known for known in self._tokens if hmac.compare_digest(known.encode(), token.encode())]
        for known in found:
            del self._tokens[known]
        return bool(found)

    def cookie(self, port: int) -> str:
        """Value of `Set-Cookie`. The name holds the port, since browsers keep one jar for all ports of a host."""
        return f"{_cookie_name(port)}={self._secret}; Path=/; HttpOnly; SameSite=Strict"

    def admitted(self, headers: Headers, port: int) -> bool:
        prefix = f"{_cookie_name(port)}="
        given = [
            part.strip().removeprefix(prefix)
            for header in headers.get_all("Cookie")
            for part in header.split(";")
            if part.strip().startswith(prefix)
        ]
        return any(hmac.compare_digest(value.encode("utf-8", "replace"), self._secret.encode()) for value in given)


def host_of(headers: Headers) -> str | None:
    """The `Host` header, if it names this machine and nothing else. Any port: it may be forwarded."""
    hosts = headers.get_all("Host")
    return hosts[0] if len(hosts) == 1 and _LOOPBACK.fullmatch(hosts[0]) else None


def same_origin(origins: Sequence[str], host: str) -> bool:
    return len(origins) == 1 and origins[0].lower() == f"http://{host.lower()}"


def _cookie_name(port: int) -> str:
    return f"tvls-{port}"
