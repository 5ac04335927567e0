"""The LSP server."""

from __future__ import annotations


def serve() -> int:
    """Serves one client on standard input and output until it leaves. Returns the exit code of the process.

    Imported late: the rest of the command line does without the LSP types, which take most of the start-up time.
    """
    import gc

    gc.disable()  # the imports make many objects and no garbage
    from tvls.server.main import serve_stdio
    from tvls.session import Session

    gc.freeze()
    gc.enable()
    return serve_stdio(Session)
