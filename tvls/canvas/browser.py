"""Whether there is a browser on the person's screen, and what to tell where there is none."""

from __future__ import annotations

import getpass
import os
import sys
import webbrowser
from collections.abc import Mapping
from urllib.parse import urlsplit


def screen_is_here(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a browser started by this process would be seen. Over SSH it would not, unless its screen comes along."""
    shown = bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY") or environ.get("BROWSER"))
    return shown or (not over_ssh(environ) and sys.platform in ("darwin", "win32"))


def over_ssh(environ: Mapping[str, str] = os.environ) -> bool:
    return bool(environ.get("SSH_CONNECTION"))


def open_browser(address: str) -> bool:
    """Opens the address on this screen. False where that is not possible."""
    if not screen_is_here():
        return False
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False


def forwarding(address: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The command that makes the address work on the machine that the person sits at; None without SSH."""
    connection = environ.get("SSH_CONNECTION", "").split()
    if len(connection) != 4:
        return None
    port = urlsplit(address).port
    _, _, server, ssh_port = connection
    other_port = "" if ssh_port == "22" else f"-p {ssh_port} "
    return f"ssh -N -L {port}:127.0.0.1:{port} {other_port}{getpass.getuser()}@{server}"
