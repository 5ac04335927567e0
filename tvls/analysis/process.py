"""The analysis process: requests on standard input, answers on standard output.

Each message is four bytes of big-endian length and a msgpack value. Requests are answered in order of arrival; an index
is made one file at a time while nothing else waits, so that it never holds up a lens. The one argument is the file
descriptor of the board on which the process says what it is at. The process ends with its standard input.
"""

from __future__ import annotations

import gc
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import BinaryIO

import msgspec

from tvls.analysis.board import IDLE, Board
from tvls.analysis.names import as_text, from_wire, to_wire
from tvls.analysis.types import (
    Answer,
    Avoid,
    Buffer,
    Cancel,
    DeclaredAnswer,
    DeclaredRequest,
    Failure,
    FileError,
    FileTargets,
    Found,
    FoundTarget,
    IndexAnswer,
    IndexRequest,
    Message,
    Named,
    NamedAnswer,
    NamedRequest,
    TargetsAnswer,
    TargetsRequest,
)
from tvls.analysis.workspace import Workspace
from tvls.printable import printable

_SLICE_SECONDS = 0.01
_MOST_MEMORY = 6 << 30
"""Bytes of address space: a file that needs more fails alone, before the machine suffers."""


def main() -> None:
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing but answers may reach the daemon
    # Parsers recurse: a large stack and limit let deeply nested source be read or refused, not crash.
    sys.setrecursionlimit(20_000)
    threading.stack_size(256 * 1024 * 1024)
    tune()
    limit_memory()
    board = Board(int(sys.argv[1]))
    messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
    worker = threading.Thread(target=_serve_or_die, args=(messages, sink, board), daemon=True)
    worker.start()
    threading.stack_size(0)
    _read(source, messages)
    os._exit(0)


def tune() -> None:
    """Settings of a process that makes syntax trees: large, short-lived and free of cycles."""
    gc.set_threshold(200_000, 20, 20)


def limit_memory() -> None:
    """Where the system has such a limit."""
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = _MOST_MEMORY if hard == resource.RLIM_INFINITY else min(hard, _MOST_MEMORY)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _read(source: BinaryIO, messages: queue.SimpleQueue[Message]) -> None:
    decoder = msgspec.msgpack.Decoder(Message)
    while len(head := source.read(4)) == 4:
        size = int.from_bytes(head, "big")
        if len(body := source.read(size)) < size:
            return
        messages.put(decoder.decode(body))


def _serve_or_die(messages: queue.SimpleQueue[Message], sink: BinaryIO, board: Board) -> None:
    try:
        _Server(sink, board).serve(messages)
    except BaseException:  # noqa: BLE001 - a dead loop in a living process would answer nothing for ever
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


class _Server:
    def __init__(self, sink: BinaryIO, board: Board) -> None:
        self.sink = sink
        self.board = board
        self.workspace = Workspace(announce=board.write)
        self.encoder = msgspec.msgpack.Encoder()
        self.jobs: dict[int, tuple[Iterator[Found], Found]] = {}
        """Indexes under way, the oldest first."""

    def serve(self, messages: queue.SimpleQueue[Message]) -> None:
        while True:
            try:
                message = messages.get(block=not self.jobs)
            except queue.Empty:
                self.work()
                continue
            self.handle(message)

    def handle(self, message: Message) -> None:
        self.board.write(IDLE)
        match message:
            case Avoid():
                self.workspace.avoided.update(message.marks)
            case Buffer():
                self.workspace.put(from_wire(message.path), _text(message.text))
            case Cancel():
                self.jobs.pop(message.id, None)
            case IndexRequest():
                only = None if message.only is None else [from_wire(place) for place in message.only]
                files = self.workspace.index([from_wire(root) for root in message.roots], only)
                self.jobs[message.id] = (files, Found([], []))
            case DeclaredRequest():
                self.answer(
                    message,
                    lambda path, roots: DeclaredAnswer(message.id, self.workspace.declared(path, roots, message.name)),
                )
            case NamedRequest():
                self.answer(
                    message,
                    lambda path, roots: NamedAnswer(message.id, self.workspace.named(path, roots, message.name)),
                )
            case TargetsRequest():
                self.answer(message, lambda path, roots: TargetsAnswer(message.id, self.workspace.targets(path, roots)))

    def answer(
        self,
        request: DeclaredRequest | NamedRequest | TargetsRequest,
        answered: Callable[[str, list[str]], Answer],
    ) -> None:
        """Answers a request about one file, whose text may come with it."""
        try:
            path = from_wire(request.path)
            if request.text is not None:
                self.workspace.put(path, _text(request.text))
            self.send(answered(path, [from_wire(root) for root in request.roots]))
        except Exception as error:  # noqa: BLE001 - one bad file must not end the service of the others
            self.fail(request.id, error)

    def work(self) -> None:
        """A slice of the oldest index."""
        number, (files, found) = next(iter(self.jobs.items()))
        end = time.monotonic() + _SLICE_SECONDS
        try:
            for some in files:
                found.targets.extend(some.targets)
                found.errors.extend(some.errors)
                self.board.write(IDLE)
                if time.monotonic() > end:
                    return
        except Exception as error:  # noqa: BLE001 - as above
            del self.jobs[number]
            self.fail(number, error)
            return
        del self.jobs[number]
        self.send(IndexAnswer(number, found))

    def fail(self, number: int, error: Exception) -> None:
        traceback.print_exc()
        self.send(Failure(number, printable(f"{type(error).__name__}: {error}")))

    def send(self, answer: Answer) -> None:
        try:
            body = self.encoder.encode(answer)
        except UnicodeEncodeError:
            body = self.encoder.encode(_escaped(answer))
        self.sink.write(len(body).to_bytes(4, "big") + body)
        self.sink.flush()


def _text(text: bytes | None) -> str | None:
    return None if text is None else text.decode(errors="surrogatepass")


def _escaped(answer: Answer) -> Answer:
    """The same answer where names of files are no text."""
    match answer:
        case TargetsAnswer(result=result):
            targets = [_escaped_target(target) for target in result.targets]
            return TargetsAnswer(answer.id, FileTargets(targets, result.parsed, result.error))
        case IndexAnswer(found=found):
            targets = [_escaped_target(target) for target in found.targets]
            errors = [FileError(to_wire(item.path), item.error) for item in found.errors]
            return IndexAnswer(answer.id, Found(targets, errors))
        case NamedAnswer(named=named):
            return NamedAnswer(answer.id, Named(named.target and _escaped_target(named.target), named.no_model))
        case Failure() | DeclaredAnswer():
            return answer


def _escaped_target(target: FoundTarget) -> FoundTarget:
    return msgspec.structs.replace(
        target, path=to_wire(target.path), root=to_wire(target.root), module=as_text(target.module)
    )
