"""The `tvls` command.

Exit codes: 0 done; 1 the trace or the request failed; 2 wrong usage; 3 something is missing that a person has to give
(trust, a setup, an environment, a save); 130 interrupted.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import tvls
from tvls.commands.exits import DONE, FAILED, INTERRUPTED


def main(argv: Sequence[str] | None = None) -> int:
    _open_standard_streams()
    arguments = _parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `tvls show … | head`
        _give_up_output()
        return DONE
    except OSError as error:  # a full disk behind standard output, a working directory that is gone
        _give_up_output()
        print(f"tvls: {error}", file=sys.stderr)
        return FAILED


def _open_standard_streams() -> None:
    """A descriptor below 3 that the caller closed would otherwise become some pipe of ours."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    for name, descriptor in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, "r" if descriptor == 0 else "w", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a narrow encoding must not lose the whole answer


def _give_up_output() -> None:
    """Nothing more can be written; what is buffered must not raise once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tvls",
        description="Opens JAX, Flax and PyTorch models as graphs.",
        epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 missing: trust, setup, environment or a save.",
    )
    parser.add_argument("--version", action="version", version=f"tvls {tvls.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", help="run the language server on standard input and output")
    serve.add_argument("--stdio", action="store_true", help="the default; accepted because editors pass it")
    serve.set_defaults(run=_serve)

    discover = commands.add_parser("discover", help="list the models in files and folders; runs nothing of them")
    discover.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="default: the current folder")
    discover.add_argument("--json", action="store_true", help="print [{path, kind, name, line}]")
    discover.set_defaults(run=_discover)

    trace = commands.add_parser("trace", help="trace a model and print its outline, or write its graph")
    _add_request(trace)
    trace.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the portable graph file")
    trace.add_argument("--json", action="store_true", help="print the portable graph, or the error, as JSON")
    _add_outline(trace)
    _add_environment(trace)
    trace.set_defaults(run=_trace)

    opened = commands.add_parser(
        "open", help="trace a model and show its graph in a browser, until Ctrl-C; or show a graph file there"
    )
    _add_request(opened, "FILE:NAME | GRAPH.json")
    opened.add_argument("--no-browser", action="store_true", help="print the address, and open nothing")
    opened.add_argument(
        "--until-stdin-ends", action="store_true", help="end, too, when standard input does; for a program that runs it"
    )
    _add_environment(opened)
    opened.set_defaults(run=_open)

    setup = commands.add_parser("setup", help="draft or edit a profile of tensorviz.toml; runs nothing of the model")
    setup.add_argument(
        "target", metavar="FILE:NAME", help="such as model.py:net; the file alone where it has one model"
    )
    setup.add_argument("--profile", help="the profile to edit or to make; default: the first one of the target")
    setup.add_argument("--new", action="store_true", help="make a further profile although the target has one")
    setup.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a value by parameter, dimension or key: 'x=float32[2,3]', 'x.shape=2,3', 'batch=32', "
        "'inputs.factory=batch.py:example'; repeatable",
    )
    setup.add_argument("--json", action="store_true", help="print the form as JSON and save nothing")
    setup.add_argument("--folder", type=Path, help="workspace folder; default: the nearest project above the file")
    setup.set_defaults(run=_setup)

    show = commands.add_parser("show", help="print the outline of a graph file; needs no model, no JAX")
    show.add_argument("file", type=Path, metavar="GRAPH.json")
    form = show.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the checked document")
    form.add_argument(
        "--html", type=Path, metavar="PAGE.html", help="write a page that opens in any browser, from disk"
    )
    _add_outline(show)
    show.set_defaults(run=_show)

    compare = commands.add_parser(
        "compare", help="say what is different between two graph files; ends with 1 where something is, as diff does"
    )
    compare.add_argument("before", type=Path, metavar="BEFORE.json")
    compare.add_argument("after", type=Path, metavar="AFTER.json")
    compare.add_argument("--json", action="store_true", help="print the differences as JSON")
    compare.set_defaults(run=_compare)

    trust = commands.add_parser("trust", help="remember that code of a folder may run, or list such folders")
    trust.add_argument("trusted", nargs="?", type=Path, metavar="FOLDER", help="absent: list the trusted folders")
    trust.add_argument("--revoke", action="store_true", help="withdraw the trust")
    trust.set_defaults(run=_trust)

    _add_env(commands.add_parser("env", help="the Python that models are traced with: list, use, plan, install"))

    doctor = commands.add_parser("doctor", help="say what is found, what is missing and what to do")
    doctor.add_argument("--json", action="store_true")
    _add_environment(doctor)
    doctor.set_defaults(run=_doctor)
    return parser


def _add_request(parser: argparse.ArgumentParser, target: str = "FILE:NAME") -> None:
    parser.add_argument(
        "target",
        nargs="?",
        metavar=target,
        help="such as model.py:net; the file alone where it has one model; optional with --profile",
    )
    parser.add_argument("--profile", help="profile of tensorviz.toml; default: the first one of the target")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="[NAME=]VALUE",
        help="an input: 'x=float32[2,3]', 'float32[2,3]', 'train=true', 'xs=[float32[2], float32[3]]', or one by one "
        "'params.w=float32[3]', 'layers[0].w=float32[3]'; with --profile in the place of the profile's; repeatable",
    )
    parser.add_argument(
        "--init", action="append", default=[], metavar="[NAME=]VALUE", help="a constructor argument; repeatable"
    )
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--device", default=None, help="cpu or cuda:N")
    parser.add_argument(
        "--measure",
        action="append",
        default=[],
        choices=("storage_aliases", "activation_statistics", "output_bytes"),
        help="measure while a PyTorch model runs; what each costs stands under `unavailable` of a graph; repeatable",
    )
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="raise or lower a limit: seconds, operations, inputElements, memoryBytes, ...; repeatable",
    )


def _add_env(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    folder_help = "workspace folder; default: the nearest one above with a tensorviz.toml or a project"

    listing = commands.add_parser("list", help="the Pythons of a folder, * the selected one; runs none of them")
    use = commands.add_parser("use", help="choose the Python of a folder, and remember it")
    for command, run in ((listing, "env_list"), (use, "env_use")):
        command.add_argument("--folder", type=Path, help=folder_help)
        command.add_argument("--json", action="store_true")
        command.set_defaults(run=_env, env=run)
    use.add_argument("--forget", action="store_true", help="forget the choice")
    use.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="PYTHON",
        help="an interpreter, the folder of an environment, or a command such as uv run python",
    )

    plan = commands.add_parser("plan", help="show what an installation would change; changes nothing")
    install = commands.add_parser("install", help="show what an installation would change, ask, and install")
    for command, run in ((plan, "env_plan"), (install, "env_install")):
        command.add_argument(
            "requirements",
            nargs="*",
            metavar="REQUIREMENT",
            help="such as jax or 'flax>=0.10.6'; default: what the models of the folder need",
        )
        command.add_argument("--json", action="store_true")
        _add_environment(command)
        command.set_defaults(run=_env, env=run)
    install.add_argument("--yes", action="store_true", help="install without asking")


def _add_outline(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max-lines", type=_positive, default=None, metavar="N", help="cut the outline after N lines")
    parser.add_argument("--depth", type=_positive, default=None, metavar="N", help="scopes below N others in one line")


def _add_environment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--folder",
        type=Path,
        help="workspace folder; default: the nearest one above with a tensorviz.toml or a project",
    )
    parser.add_argument(
        "--python", help="the capture Python, a path or a command such as 'uv run python'; default: found in the folder"
    )
    parser.add_argument("--trust", action="store_true", help="run code of the folder this once without asking")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _serve(_: argparse.Namespace) -> int:
    from tvls.server import serve

    return serve()


def _discover(arguments: argparse.Namespace) -> int:
    from tvls.commands.discover import discover_command

    return asyncio.run(discover_command(arguments.paths or [Path()], arguments.json))


def _trace(arguments: argparse.Namespace) -> int:
    from tvls.commands.trace import trace_command

    return asyncio.run(trace_command(arguments))


def _open(arguments: argparse.Namespace) -> int:
    from tvls.commands.open import open_command

    return asyncio.run(open_command(arguments))


def _setup(arguments: argparse.Namespace) -> int:
    from tvls.commands.setup import setup_command

    return asyncio.run(setup_command(arguments))


def _show(arguments: argparse.Namespace) -> int:
    from tvls.commands.show import show_command

    return show_command(arguments.file, arguments.json, arguments.html, arguments.max_lines, arguments.depth)


def _compare(arguments: argparse.Namespace) -> int:
    from tvls.commands.compare import compare_command

    return compare_command(arguments.before, arguments.after, arguments.json)


def _trust(arguments: argparse.Namespace) -> int:
    from tvls.commands.trust import trust_command

    return trust_command(arguments.trusted, arguments.revoke)


def _env(arguments: argparse.Namespace) -> int:
    from tvls.commands import env

    arguments.env = getattr(env, arguments.env)
    return env.env_command(arguments)


def _doctor(arguments: argparse.Namespace) -> int:
    from tvls.commands.doctor import doctor_command

    return asyncio.run(doctor_command(arguments))
