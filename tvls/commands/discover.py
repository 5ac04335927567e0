"""`tvls discover PATH…`"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tvls.analysis.discover import discover
from tvls.commands.exits import DONE, USAGE


async def discover_command(paths: list[Path], as_json: bool) -> int:
    gone = [path for path in paths if not path.exists()]
    if gone:
        print(f"tvls: there is no {', '.join(str(path) for path in gone)}", file=sys.stderr)
        return USAGE
    targets = await discover([path.absolute() for path in paths])
    if as_json:
        rows = [
            {"path": _shown(item.path), "kind": item.kind, "name": item.name, "line": item.line} for item in targets
        ]
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return DONE
    for item in targets:
        print(f"{_shown(item.path)}:{item.line}  {item.kind:<13} {item.name}")
    if not targets:
        print("No JAX function, Flax module or PyTorch module found.", file=sys.stderr)
    return DONE


def _shown(path: str) -> str:
    """Relative to where the command runs, if it lies inside."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path
