"""The LSP server."""

from __future__ import annotations


def serve() -> int:
    """Serves one client on standard input and output until it leaves. Returns the exit code of the process.

    Imported late: the rest of the command line does without the LSP types, which take most of the start-up time.
    """
    from tvls.server.main import serve_stdio
    from tvls.session import Session

    return serve_stdio(Session)
