"""Is a capture still true to its sources? Told by content, so that undoing a change makes it fresh again.

What an open buffer holds counts before what is on disk. Nothing here is remembered as "stale": every answer compares
what was traced with what is there now.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import time
import tokenize
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from tvls.capture.encoding import digest
from tvls.protocol.types import Stale

_LARGEST: Final = 256 * 1024 * 1024
"""Bytes of a file above which it is no source."""
_SETTLED_NS: Final = 2_000_000_000
"""A file that changed less than this long ago is read again: time stamps can be as coarse as two seconds."""
_BOM: Final = b"\xef\xbb\xbf"


class Snapshot(msgspec.Struct, frozen=True):
    """What a capture depended on."""

    sources: dict[str, str]
    """Workspace-relative path → digest of the file's bytes."""
    profile: str
    """Digest of the setup."""
    environment: str
    """Fingerprint of the interpreter."""
    libraries: dict[str, str]
    """Library → version."""


class _Entry:
    """What is known of one file. `key` identifies its state; where `settled`, an equal key proves equal content."""

    __slots__ = ("digest", "key", "settled")

    def __init__(self, key: tuple[int, ...], digest: str, settled: bool) -> None:
        self.key = key
        self.digest = digest
        self.settled = settled


class FileDigests:
    """Digests of files, read only when a file may have changed. One object serves the whole daemon.

    A file counts as unchanged where its modification and change times, size and inode are the same and the last change
    was long enough ago to have got a time stamp of its own.
    """

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._texts: dict[str, tuple[str, str]] = {}
        self._buffers: dict[str, tuple[str, str | None, frozenset[str]]] = {}

    def digest(self, path: Path | str) -> str | None:
        """`sha256:…` of the bytes of a file; None where there is no readable regular file."""
        name = os.fspath(path)
        try:
            status = os.stat(name)  # noqa: PTH116 - a Path costs more than the call
        except (OSError, ValueError):
            return None
        entry = self._entries.get(name)
        if (
            entry is not None
            and entry.settled
            # As `_key`, in line: this is the hot path.
            and entry.key == (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev)
        ):
            return entry.digest
        data = self._read(name)
        return None if data is None else self._entries[name].digest

    def text(self, path: Path | str) -> str:
        """Text of a file with `\\n` line ends, as Python decodes its source.

        Raises FileNotFoundError where there is no readable regular file.
        """
        text = self.text_or_none(path)
        if text is None:
            raise FileNotFoundError(os.fspath(path))
        return text

    def text_or_none(self, path: Path | str) -> str | None:
        """As `text`, or None where there is no readable regular file."""
        name = os.fspath(path)
        now = self.digest(name)
        if now is None:
            return None
        known = self._texts.get(name)
        if known is None or known[0] != now:
            data = self._read(name)
            if data is None:
                return None
            known = (self._entries[name].digest, _decode(data))
            self._texts[name] = known
        return known[1]

    def is_saved(self, path: Path | str, text: str) -> bool:
        """Whether a buffer holds what is on disk. Line ends and a byte order mark make no difference."""
        name = os.fspath(path)
        now = self.digest(name)
        return now is not None and now in self._buffer_digests(name, text, now)

    def matches(self, path: Path | str, wanted: str, text: str) -> bool:
        """Whether a buffer holds the text of the file whose digest is `wanted`, be it on disk now or not."""
        name = os.fspath(path)
        return wanted in self._buffer_digests(name, text, self.digest(name))

    def _buffer_digests(self, name: str, text: str, disk: str | None) -> frozenset[str]:
        """Digests of the files that this text can be the content of: the one on disk, where the buffer equals it, and
        what an editor may write for it."""
        known = self._buffers.get(name)
        if known is not None and known[1] == disk and known[0] == text:
            return known[2]
        found = {digest(data) for data in _encodings(text)}
        if disk is not None and disk not in found:
            data = self._read(name)
            if data is not None and _same_text(data, text):
                found.add(self._entries[name].digest)
        result = frozenset(found)
        self._buffers[name] = (text, disk, result)
        return result

    def _read(self, name: str) -> bytes | None:
        """The bytes of a regular file, and its entry brought up to date."""
        try:
            # Never waits for a pipe's other end.
            handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            self._entries.pop(name, None)
            return None
        try:
            with os.fdopen(handle, "rb") as file:
                before = os.fstat(file.fileno())
                if not stat.S_ISREG(before.st_mode) or before.st_size > _LARGEST:
                    self._entries.pop(name, None)
                    return None
                data = file.read(_LARGEST)
                after = os.fstat(file.fileno())
        except OSError:
            self._entries.pop(name, None)
            return None
        key = _key(after)
        settled = key == _key(before) and _is_settled(after)
        self._entries[name] = _Entry(key, digest(data), settled)
        return data


def check(
    snapshot: Snapshot,
    folder: Path,
    buffers: Mapping[Path, str],
    profile_digest: str | None,
    environment_fingerprint: str | None,
    libraries: Mapping[str, str] | None,
    digests: FileDigests,
) -> Stale | None:
    """Every difference between what was traced and what is there now; None where there is none.

    `buffers` are texts of open documents by absolute path, `folder` is the workspace folder of the capture. None for
    the profile or the environment means that it is gone; None for `libraries` that nobody knows them now, which says
    nothing.
    """
    prefix = str(folder).rstrip(os.sep) + os.sep
    open_texts = {str(path): text for path, text in buffers.items()}
    files: list[str] = []
    for source, wanted in snapshot.sources.items():
        name = prefix + source
        text = open_texts.get(name)
        fresh = digests.digest(name) == wanted if text is None else digests.matches(name, wanted, text)
        if not fresh:
            files.append(source)
    changed_libraries = (
        []
        if libraries is None
        else [name for name, version in snapshot.libraries.items() if libraries.get(name) != version]
    )
    profile = profile_digest != snapshot.profile
    interpreter = environment_fingerprint != snapshot.environment
    if not (files or profile or interpreter or changed_libraries):
        return None
    return Stale(files=files, profile=profile, interpreter=interpreter, libraries=changed_libraries)


def unsaved(buffers: Mapping[Path, str], paths: Iterable[Path], digests: FileDigests) -> list[Path]:
    """Those of `paths` whose open buffer differs from the file on disk, in order and without repeats."""
    return [
        path
        for path in dict.fromkeys(paths)
        if (text := buffers.get(path)) is not None and not digests.is_saved(path, text)
    ]


def _key(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev)


def _is_settled(status: os.stat_result) -> bool:
    now = time.time_ns()
    # A modification time can be set to anything, also to the future; a change time cannot.
    changed = max(status.st_ctime_ns, min(status.st_mtime_ns, now))
    return now - changed > _SETTLED_NS


def _encoding(data: bytes) -> str:
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        b"a".decode(encoding)  # nothing at all would decode with any name
    except (
        SyntaxError,
        LookupError,
        UnicodeError,
    ):  # no encoding, or bytes that do not fit: Python cannot read this file either
        return "utf-8"
    return encoding


def _decode(data: bytes) -> str:
    try:
        text = data.decode(_encoding(data), "replace")
    except UnicodeError:  # an encoding that knows no replacement
        text = data.decode("utf-8", "replace")
    return _unix(text.removeprefix("\ufeff"))


def _same_text(data: bytes, text: str) -> bool:
    """Whether an editor that opens `data` would hold `text`. Some editors know no coding comment: they read UTF-8."""
    wanted = _unix(text.removeprefix("\ufeff"))
    return wanted in (_decode(data), _unix(data.removeprefix(_BOM).decode("utf-8", "replace")))


def _encodings(text: str) -> list[bytes]:
    """What an editor may write for `text`: with line ends of either kind, with and without a byte order mark."""
    bare = text.removeprefix("\ufeff")
    unix = _unix(bare)
    first = unix.encode("utf-8", "surrogatepass")
    encoding = _encoding(first)
    result: list[bytes] = []
    for variant in dict.fromkeys((bare, unix, unix.replace("\n", "\r\n"))):
        data = variant.encode("utf-8", "surrogatepass")
        result += [data, _BOM + data]
        if encoding not in ("utf-8", "utf-8-sig"):
            with contextlib.suppress(UnicodeError):
                result.append(variant.encode(encoding))
    return result


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
