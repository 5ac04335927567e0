"""`python -m tvls.protocol.conformance`: is a server one of this protocol; and a server to test clients with."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tvls.protocol.conformance import fake, replay, rules, transcript
from tvls.protocol.conformance.connection import Connection, Fault

ROOT = Path(__file__).resolve().parents[3] / "protocol"

_EPILOG = """\
examples:
  %(prog)s --server "tvls serve"                             the rules
  %(prog)s --server "tvls serve" --python .venv/bin/python   the rules and the transcripts
  %(prog)s --fake-server                                     answers every request with its example
  %(prog)s --fake-server protocol/transcripts/open.jsonl     plays that conversation to a client
  %(prog)s --record open.jsonl --server "tvls serve" --python .venv/bin/python
                                                             writes anew what the server says in it
"""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tvls.protocol.conformance",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--server", metavar="COMMAND", help="command that starts the server to check")
    parser.add_argument("--python", metavar="PATH", help="a Python with JAX, for transcripts that trace")
    parser.add_argument("--only", metavar="WORD", default="", help="only rules and transcripts with this in the name")
    parser.add_argument(
        "--seconds", metavar="N", type=float, default=20.0, help="how long an answer may take without a trace (20)"
    )
    parser.add_argument("--record", metavar="TRANSCRIPT", type=Path, help="write anew what --server says in it")
    parser.add_argument(
        "--fake-server",
        metavar="TRANSCRIPT",
        type=Path,
        nargs="?",
        const=Path(),
        help="be a server on standard input and output: of a transcript, or of the fixtures",
    )
    options = parser.parse_args(arguments)
    if not (ROOT / "fixtures").is_dir():
        parser.error(f"{ROOT} is not there: run this from a checkout of the repository")
    try:
        if options.fake_server is not None:
            played = transcript.read(options.fake_server) if options.fake_server != Path() else None
            return fake.serve(ROOT / "fixtures", played, sys.stdin.buffer, sys.stdout.buffer)
        if options.server is None:
            parser.error("one of --server and --fake-server is needed")
        command = shlex.split(options.server)
        if options.record is not None:
            return _record(options.record, command, options.python, options.seconds)
        return _check(command, options.python, options.only, options.seconds)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _environment(state: Path) -> dict[str, str]:
    """A server under test has its own place for trust and caches, and no environment that is active by chance."""
    kept = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    return {**kept, "XDG_STATE_HOME": str(state / "state"), "XDG_CACHE_HOME": str(state / "cache")}


def _check(command: Sequence[str], python: str | None, only: str, seconds: float) -> int:
    failed = 0

    def run(name: str, check: Callable[[], None]) -> None:
        nonlocal failed
        try:
            check()
        except Fault as fault:
            failed += 1
            print(f"FAIL  {name}: {fault}", flush=True)
        else:
            print(f"ok    {name}", flush=True)

    with tempfile.TemporaryDirectory(prefix="tvls-conformance-") as place:
        state = Path(place).resolve()
        bench = rules.Bench(lambda folder: Connection(command, folder, _environment(state), seconds), ROOT / "fixtures")
        for rule in rules.RULES:
            if only in rule.__name__:
                run(rule.__name__.replace("_", " "), lambda rule=rule: rule(bench))
        for path in sorted((ROOT / "transcripts").glob("*.jsonl")):
            written = transcript.read(path)
            if only not in written.name:
                continue
            if written.tracing and python is None:
                print(f"skip  transcript {written.name}: it traces, and no --python was given", flush=True)
                continue
            folder = state / written.name / "net"
            run(f"transcript {written.name}", lambda t=written, f=folder: _replay(t, command, f, python, seconds))
    return 1 if failed else 0


def _replay(
    written: transcript.Transcript, command: Sequence[str], folder: Path, python: str | None, seconds: float
) -> None:
    connection = _start(written, command, folder, seconds)
    try:
        replay.replay(written, connection, replay.known(folder, python))
    finally:
        connection.close()


def _start(written: transcript.Transcript, command: Sequence[str], folder: Path, seconds: float) -> Connection:
    folder.mkdir(parents=True)
    replay.write_files(written, folder)
    return Connection(command, folder, _environment(folder.parent), seconds)


def _record(path: Path, command: Sequence[str], python: str | None, seconds: float) -> int:
    written = transcript.read(path)
    with tempfile.TemporaryDirectory(prefix="tvls-record-") as place:
        folder = Path(place).resolve() / "net"
        connection = _start(written, command, folder, seconds)
        try:
            recorded = replay.record(written, connection, replay.known(folder, python))
        except Fault as fault:
            sys.stderr.write(f"{fault}\n")
            return 1
        finally:
            connection.close()
    transcript.write(path, recorded)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
