"""Traces models of `tests/canvas/workspace` for the canvas's unit tests: `python tests/canvas/record.py`.

Writes `clients/canvas/test/graphs/NAME.json`, the data of an exported page, without what no unit test looks at.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
PROFILES = ("tower", "rnn")


def main() -> None:
    sys.path.insert(0, str(ROOT))
    from tvls import graph
    from tvls.canvas.file import graph_data
    from tvls.graph import capture_info

    for profile in PROFILES:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{profile}.json"
            command = [sys.executable, "-m", "tvls", "trace", "--profile", profile, "--trust", "-o", str(file)]
            command += ["--python", str(ROOT / ".venv-models/bin/python")]
            command += ["--folder", str(ROOT / "tests/canvas/workspace")]
            subprocess.run(command, check=True, cwd=ROOT)
            capture = graph.load(file.read_bytes())
        assert "failure" not in capture
        index = graph.GraphIndex(capture)
        data: dict[str, Any] = json.loads(graph_data(index, capture_info(index), f"{profile}.json"))
        data["portable"]["text"] = "{}"
        for whole in data["graphs"].values():
            for details in whole["details"].values():
                details["frames"] = [at for at in details["frames"] if data["frames"][at]["workspace"]]
        out = ROOT / "clients/canvas/test/graphs" / f"{profile}.json"
        out.parent.mkdir(exist_ok=True)
        out.write_text(json.dumps(data, separators=(",", ":"), sort_keys=True) + "\n")
        print(out, out.stat().st_size)


if __name__ == "__main__":
    main()
