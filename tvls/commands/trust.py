"""`tvls trust [FOLDER]`"""

from __future__ import annotations

import sys
from pathlib import Path

from tvls.commands.exits import DONE, USAGE
from tvls.commands.terminal import report
from tvls.protocol.errors import TvlsError
from tvls.trust import TrustStore


def trust_command(folder: Path | None, revoke: bool) -> int:
    store = TrustStore()
    for problem in store.problems:
        print(f"tvls: {problem}", file=sys.stderr)
    if folder is None:
        if revoke:
            print("tvls: name the folder that is not to be trusted any more", file=sys.stderr)
            return USAGE
        for grant in store.list():
            print(grant.folder)
        return DONE
    try:
        if revoke:
            withdrawal = store.revoke(folder.absolute())
            for gone in withdrawal.folders:
                print(f"{gone} is not trusted any more")
            note = withdrawal.note
        else:
            note = store.grant(folder.absolute()).note
    except TvlsError as error:
        return report(error)
    if note:
        print(f"tvls: {note}", file=sys.stderr)
    return DONE
