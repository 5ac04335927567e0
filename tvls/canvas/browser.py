"""Whether there is a browser on the person's screen, and what to tell where there is none."""

from __future__ import annotations

import getpass
import logging
import os
import sys
import threading
import webbrowser
from collections.abc import Mapping
from urllib.parse import urlsplit

logger = logging.getLogger(__name__)


def screen_is_here(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a browser started by this process would be seen. Over SSH it would not, unless its screen comes along."""
    shown = bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY") or environ.get("BROWSER"))
    return shown or (not over_ssh(environ) and sys.platform in ("darwin", "win32"))


def over_ssh(environ: Mapping[str, str] = os.environ) -> bool:
    return bool(environ.get("SSH_CONNECTION"))


def open_browser(address: str) -> threading.Thread | None:
    """Opens the address, where there is a screen. It does not wait: some browsers return when they are closed."""
    if not screen_is_here():
        return None
    opening = threading.Thread(target=_open, args=(address,), daemon=True)
    opening.start()
    return opening


def _open(address: str) -> None:
    try:
        webbrowser.open(address)
    except webbrowser.Error as error:  # the address was printed, too
        logger.info("no browser could be started: %s", error)


def forwarding(address: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The command that makes the address work on the machine that the person sits at; None without SSH."""
    connection = environ.get("SSH_CONNECTION", "").split()
    if len(connection) != 4:
        return None
    port = urlsplit(address).port
    _, _, server, ssh_port = connection
    other_port = "" if ssh_port == "22" else f"-p {ssh_port} "
    return f"ssh -N -L {port}:127.0.0.1:{port} {other_port}{getpass.getuser()}@{server}"
