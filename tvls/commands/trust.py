"""`tvls trust [FOLDER]`"""

from __future__ import annotations

from pathlib import Path

from tvls.commands.exits import DONE, USAGE
from tvls.commands.terminal import absolute, complain
from tvls.printable import printable_text
from tvls.protocol.errors import TvlsError
from tvls.trust import TrustStore


def trust_command(folder: Path | None, revoke: bool) -> int:
    store = TrustStore()
    for problem in store.problems:
        complain(problem)
    if folder is None:
        if revoke:
            complain("name the folder that is not to be trusted any more")
            return USAGE
        for grant in store.list():
            print(printable_text(str(grant.folder)))
        return DONE
    if not revoke and not folder.is_dir():
        complain(f"there is no folder {folder}")
        return USAGE
    try:
        if revoke:
            withdrawal = store.revoke(absolute(folder))
            for gone in withdrawal.folders:
                print(f"{gone} is not trusted any more")
            note = withdrawal.note
        else:
            note = store.grant(absolute(folder)).note
    except TvlsError as error:  # its own next step, not the one of a trace that lacks trust
        complain(error.told)
        return USAGE
    if note:
        complain(note)
    return DONE
