"""What an installation would change, asked of the environment's own installer by its dry run.

Nothing is built for a plan, since building a package runs its code: distributions come as wheels or not at all. What
is installed of PyTorch, CUDA and NumPy, and a JAX build that is good enough, stays as it is.
"""

from __future__ import annotations

import re
import secrets
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import msgspec

from tvls.environments.installer import (
    Ended,
    Installation,
    Installer,
    canonical,
    choose_installer,
    installation,
    run_installer,
)
from tvls.environments.probe import OLDEST, Environment, release, requirement
from tvls.protocol.errors import TvlsError
from tvls.protocol.types_environment import ChangeKind, PackageChange

_HELD: Final = re.compile(
    r"torch|torchvision|torchaudio|torchtext|triton|pytorch-triton(-.*)?|numpy|nvidia-.*|cuda-.*|cupy(-.*)?"
)
_HELD_JAX: Final = re.compile(r"jaxlib|jax-cuda\d+-(plugin|pjrt)")
_REQUIREMENT: Final = re.compile(
    r"[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?\s*(\[[\w.,\s-]*\])?\s*((===?|[<>!~]=|[<>])\s*[\w.*+!-]+(\s*,\s*(?=[<>=!~]))?)*"
)
_VERSION: Final = re.compile(r"\d[\w.!]*(\+[\w.]+)?")
_NO_NETWORK: Final = re.compile(
    r"NewConnectionError|ConnectTimeout|Max retries exceeded|Failed to establish a new connection|name resolution"
    r"|Connection (refused|reset|aborted)|Network is unreachable|error sending request|dns error|Could not connect"
    r"|ProxyError|network connectivity is disabled|failed to lookup address",
    re.IGNORECASE,
)
_NO_MATCH: Final = re.compile(
    r"No matching distribution found|Could not find a version that satisfies|was not found in the package registry"
    r"|there are no versions of|there is no version of|has no wheels|no matching (wheel|Python)",
    re.IGNORECASE,
)
_SAID_LINES: Final = 30


class Plan(msgspec.Struct, frozen=True):
    id: str
    environment: Environment
    """As it was for the plan."""
    installer: Installer
    requirements: list[str]
    changes: list[PackageChange]
    hashes: dict[str, str]
    """Name → SHA-256 of the file, where the installer told it."""
    held: dict[str, str]
    before: dict[str, str]
    """Everything installed, by canonical name."""
    notes: list[str]

    @property
    def command(self) -> list[str]:
        """What carries it out, in a folder that holds `pinned.txt`. Nothing but what is pinned there is installed."""
        pip = ["--no-input", "--disable-pip-version-check"] if self.installer.name == "pip" else []
        return [*_install(self.installer, self.environment), *pip, "--no-deps", "-r", "pinned.txt"]

    def pinned(self) -> str:
        """The content of `pinned.txt`: with the hash of each file where all of them are known."""
        exact = self.installer.name == "pip" and all(change.name in self.hashes for change in self.changes)
        lines = [
            f"{change.name}=={change.version}" + (f" --hash=sha256:{self.hashes[change.name]}" if exact else "")
            for change in self.changes
        ]
        return "\n".join(lines) + "\n"


def check_requirements(requirements: Sequence[str]) -> None:
    """TvlsError `planRefused` for anything but names with extras and versions: options, URLs and paths can do more."""
    for text in requirements:
        if not _REQUIREMENT.fullmatch(text.strip()):
            raise TvlsError(
                "planRefused",
                f"{text[:200]!r} is no name of a package with an optional version.",
                "Write it as in `jax>=0.6.1` or `jax[cuda13]`.",
                reason="badRequirement",
            )


async def make_plan(
    environment: Environment, requirements: Sequence[str], notes: Sequence[str], on_line: Callable[[str], None]
) -> Plan:
    """The plan that satisfies `requirements` in `environment` and leaves what is held as it is.

    TvlsError `planRefused` where there is none, with the reason; `environmentInvalid` where the interpreter fails.
    """
    check_requirements(requirements)
    installed = await installation(environment)
    installer = choose_installer(environment, installed)
    held = what_to_hold(installed.distributions, requirements)
    resolved = await _resolve(environment, installer, installed, requirements, held, on_line)
    if isinstance(resolved, Ended):
        raise await _refusal(environment, installer, installed, requirements, held, resolved, on_line)
    changes, hashes, metadata = resolved
    moved = [change for change in changes if change.name in held]
    if moved:  # the installer went its own way
        raise _would_move(environment, moved, metadata)
    return Plan(
        id=secrets.token_hex(8),
        environment=environment,
        installer=installer,
        requirements=list(requirements),
        changes=changes,
        hashes=hashes,
        held=held,
        before=installed.distributions,
        notes=list(notes),
    )


def what_to_hold(distributions: Mapping[str, str], requirements: Sequence[str]) -> dict[str, str]:
    """Installed distributions (by canonical name) that an installation must leave as they are, with their versions.

    jaxlib and its CUDA plugins are of one build with jax: they are held unless that is too old, or another version of
    jax is asked for by name.
    """
    jax, jaxlib = distributions.get("jax"), distributions.get("jaxlib")
    replace_jax = any(
        version is not None and release(version) < release(OLDEST["jax"]) for version in (jax, jaxlib)
    ) or any(_asks_for_version(text) for text in requirements)
    return {
        name: version
        for name, version in sorted(distributions.items())
        if _HELD.fullmatch(name) or (_HELD_JAX.fullmatch(name) and not replace_jax)
    }


def _asks_for_version(text: str) -> bool:
    name = canonical(re.split(r"[\[<>=!~\s]", text.strip())[0])
    return name in ("jax", "jaxlib") and bool(re.search(r"[<>=!~]", text)) and text.strip() != requirement("jax")


# --- asking the installer --------------------------------------------------------------------------------------------

_Resolved = tuple[list[PackageChange], dict[str, str], list[dict[str, Any]]]


def _install(installer: Installer, environment: Environment) -> list[str]:
    at = ["--python", environment.executable] if installer.name == "uv" else []
    return [*installer.command, "install", *at, "--only-binary", ":all:"]


async def _resolve(
    environment: Environment,
    installer: Installer,
    installed: Installation,
    requirements: Sequence[str],
    held: Mapping[str, str],
    on_line: Callable[[str], None],
) -> _Resolved | Ended:
    """The changes, hashes by name and metadata of what is new; or how the installer ended without them."""
    with tempfile.TemporaryDirectory(prefix="tvls-plan-") as place:
        folder = Path(place)
        constraints, report = folder / "held.txt", folder / "report.json"
        lines = [f"{name}=={version}" for name, version in held.items() if _VERSION.fullmatch(version)]
        constraints.write_text("\n".join(lines) + "\n", "utf-8")
        command = [*_install(installer, environment), "--dry-run", "-c", str(constraints)]
        if installer.name == "pip":
            command += ["--report", str(report), "--progress-bar", "off"]
        (folder / "empty").mkdir()
        start = Path(installer.folder) if installer.folder else folder / "empty"
        try:
            end = await run_installer([*command, *requirements], start, on_line, careful=False)
        except OSError as fault:
            return Ended(127, [f"{command[0]} cannot be started: {fault.strerror}"])
        if end.code != 0:
            return end
        if installer.name == "uv":
            return _of_uv(end.lines, installed.distributions, requirements)
        return _of_pip(report.read_bytes(), installed.distributions)


class _Archive(msgspec.Struct):
    hash: str | None = None
    hashes: dict[str, str] = {}


class _Download(msgspec.Struct):
    url: str
    archive_info: _Archive | None = None


class _Item(msgspec.Struct):
    metadata: dict[str, Any]
    download_info: _Download
    requested: bool = False


class _Report(msgspec.Struct):
    version: str
    install: list[_Item]


def _of_pip(report: bytes, before: Mapping[str, str]) -> _Resolved:
    changes: list[PackageChange] = []
    hashes: dict[str, str] = {}
    items = msgspec.json.decode(report, type=_Report).install
    for item in items:
        name, version = canonical(str(item.metadata["name"])), str(item.metadata["version"])
        archive = item.download_info.archive_info
        if archive is not None:
            digest = archive.hashes.get("sha256") or (archive.hash or "").removeprefix("sha256=")
            if re.fullmatch(r"[0-9a-f]{64}", digest):
                hashes[name] = digest
        source = _without_credentials(item.download_info.url)
        changes.append(_change(name, version, before.get(name), item.requested, source))
    return sorted(changes, key=_order), hashes, [item.metadata for item in items]


def _of_uv(lines: Sequence[str], before: Mapping[str, str], requirements: Sequence[str]) -> _Resolved:
    asked = {canonical(re.split(r"[\[<>=!~\s]", text.strip())[0]) for text in requirements}
    changes: list[PackageChange] = []
    for line in lines:
        found = re.match(r"\s*[+~] ([\w.-]+)==(\S+)", line)
        if found:
            name = canonical(found[1])
            changes.append(_change(name, found[2], before.get(name), name in asked, None))
    return sorted(changes, key=_order), {}, []


def _change(name: str, version: str, previous: str | None, requested: bool, source: str | None) -> PackageChange:
    kind: ChangeKind = "install"
    if previous is not None:
        old, new = release(previous), release(version)
        kind = "upgrade" if new > old else "downgrade" if new < old else "replace"
    return PackageChange(name=name, version=version, previous=previous, change=kind, requested=requested, source=source)


def _order(change: PackageChange) -> tuple[bool, bool, str]:
    return change.previous is None, not change.requested, change.name


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


# --- refusing --------------------------------------------------------------------------------------------------------


async def _refusal(
    environment: Environment,
    installer: Installer,
    installed: Installation,
    requirements: Sequence[str],
    held: Mapping[str, str],
    end: Ended,
    on_line: Callable[[str], None],
) -> TvlsError:
    """Why there is no plan. Whether what is held stands in the way is asked of the installer, too."""
    said = "\n".join(end.lines[-_SAID_LINES:])
    where = environment.prefix
    if _NO_NETWORK.search(said):
        return TvlsError(
            "planRefused",
            f"{installer.name} cannot reach its package index, so nothing can be planned for {where}.",
            "See whether this machine has a network, and a proxy if it needs one; then plan again.",
            reason="noNetwork",
            stderr=said,
        )
    if held:
        on_line("asking what would change without holding anything")
        free = await _resolve(environment, installer, installed, requirements, {}, on_line)
        if not isinstance(free, Ended):
            moved = [change for change in free[0] if change.name in held]
            if moved:
                return _would_move(environment, moved, free[2], said)
    if _NO_MATCH.search(said):
        return TvlsError(
            "planRefused",
            f"There is no version of {', '.join(requirements)} for Python {environment.python} that can be installed "
            "without building it.",
            "See what the installer said, and choose another version or another Python.",
            reason="noMatch",
            stderr=said,
        )
    return TvlsError(
        "planRefused",
        f"{installer.name} found no way to install {', '.join(requirements)} into {where}.",
        "See what it said, and try it in a terminal.",
        reason="installerFailed",
        stderr=said,
    )


def _would_move(
    environment: Environment,
    moved: Sequence[PackageChange],
    metadata: Sequence[dict[str, Any]],
    said: str | None = None,
) -> TvlsError:
    changes = [
        f"{change.name} {change.previous} → {change.version}{_because(change.name, metadata)}" for change in moved
    ]
    return TvlsError(
        "planRefused",
        f"Nothing is installed: it would replace what {environment.prefix} has and other code may depend on: "
        f"{'; '.join(changes)}.",
        "Use another environment for it (`python3 -m venv .venv-jax`, then select that), or replace these packages "
        "yourself and plan again.",
        reason="holdsBroken",
        stderr=said,
    )


def _because(name: str, metadata: Sequence[dict[str, Any]]) -> str:
    """Who needs another version, as far as the report tells."""
    for item in metadata:
        requires: list[str] = item.get("requires_dist") or []
        for text in requires:
            need, _, marker = text.partition(";")
            found = re.match(r"[\w.-]+", need.strip())
            if found and canonical(found[0]) == name and "extra" not in marker and re.search(r"[<>=!~]", need):
                return f" ({item['name']} {item['version']} needs {need.strip()})"
    return ""


# --- in words --------------------------------------------------------------------------------------------------------


def describe(plan: Plan) -> str:
    """The whole plan as a document for people."""
    environment = plan.environment
    lines = [
        f"Installation into {environment.prefix} (Python {environment.python}) with "
        f"{plan.installer.name} {plan.installer.version}",
        "Nothing has been changed yet.",
        "",
        f"Asked for: {', '.join(plan.requirements)}",
        "",
    ]
    if not plan.changes:
        lines += ["Everything that was asked for is installed: there is nothing to do.", ""]
    new = [change for change in plan.changes if change.previous is None]
    other = [change for change in plan.changes if change.previous is not None]
    width = max((len(change.name) for change in plan.changes), default=0)
    for title, changes in (("Changes of what is installed", other), ("New packages", new)):
        if changes:
            lines.append(f"{title} ({len(changes)}):")
            for change in changes:
                versions = f"{change.previous} → {change.version}" if change.previous else change.version
                about = ", ".join([change.change] * (change.previous is not None) + ["asked for"] * change.requested)
                lines.append(f"  {change.name:{width}}  {versions}" + (f"  ({about})" if about else ""))
            lines.append("")
    if plan.held:
        lines.append("Stays as it is:")
        lines += [f"  {name} {version}" for name, version in plan.held.items()]
        lines.append("")
    if plan.notes:
        lines += [*(f"Note: {note}" for note in plan.notes), ""]
    sources = [f"  {change.source}" for change in plan.changes if change.source]
    if sources:
        lines += ["Files:", *sources, ""]
    if plan.changes:
        lines += ["Command, in a folder with the file pinned.txt:", f"  {shlex.join(plan.command)}", "", "pinned.txt:"]
        lines += [f"  {line}" for line in plan.pinned().splitlines()]
    return "\n".join(lines).rstrip() + "\n"


def summarize(plan: Plan) -> str:
    """In one sentence, for a question."""
    if not plan.changes:
        return f"Everything that was asked for is installed in {plan.environment.prefix}."
    asked = [f"{change.name} {change.version}" for change in plan.changes if change.requested]
    others = len(plan.changes) - len(asked)
    replaced = [
        f"{change.name} {change.previous} → {change.version}" for change in plan.changes if change.previous is not None
    ]
    parts = [f"{', '.join(asked)}" + (f" and {others} more packages" if asked and others > 1 else "")]
    if asked and others == 1:
        parts = [f"{', '.join(asked)} and 1 more package"]
    if not asked:
        parts = [f"{others} packages"]
    text = f"Install {parts[0]} into {plan.environment.prefix} with {plan.installer.name}?"
    if replaced:
        text += f" This replaces {', '.join(replaced)}."
    if plan.held:
        text += f" Unchanged: {', '.join(f'{name} {version}' for name, version in list(plan.held.items())[:6])}"
        text += f" and {len(plan.held) - 6} more." if len(plan.held) > 6 else "."
    return text
