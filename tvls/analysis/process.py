"""The analysis process: requests on standard input, answers on standard output.

Each message is four bytes of big-endian length and a msgpack value. Requests are answered in order of arrival; an index
is made one file at a time while nothing else waits, so that it never holds up a lens. The process ends with its
standard input.
"""

from __future__ import annotations

import gc
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from tvls.analysis.types import (
    Answer,
    Buffer,
    Cancel,
    Failure,
    FoundTarget,
    IndexAnswer,
    IndexRequest,
    Message,
    TargetsAnswer,
    TargetsRequest,
)
from tvls.analysis.workspace import Workspace

_SLICE_SECONDS = 0.01


def main() -> None:
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing but answers may reach the daemon
    # Parsers recurse: a large stack and limit let deeply nested source be read or refused, not crash.
    sys.setrecursionlimit(20_000)
    threading.stack_size(256 * 1024 * 1024)
    tune()
    messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
    worker = threading.Thread(target=_serve_or_die, args=(messages, sink), daemon=True)
    worker.start()
    threading.stack_size(0)
    _read(source, messages)
    os._exit(0)


def tune() -> None:
    """Settings of a process that makes syntax trees: large, short-lived and free of cycles."""
    gc.set_threshold(200_000, 20, 20)


def _read(source: BinaryIO, messages: queue.SimpleQueue[Message]) -> None:
    decoder = msgspec.msgpack.Decoder(Message)
    while len(head := source.read(4)) == 4:
        size = int.from_bytes(head, "big")
        if len(body := source.read(size)) < size:
            return
        messages.put(decoder.decode(body))


def _serve_or_die(messages: queue.SimpleQueue[Message], sink: BinaryIO) -> None:
    try:
        _Server(sink).serve(messages)
    except BaseException:  # noqa: BLE001 - a dead loop in a living process would answer nothing for ever
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


class _Server:
    def __init__(self, sink: BinaryIO) -> None:
        self.sink = sink
        self.workspace = Workspace()
        self.encoder = msgspec.msgpack.Encoder()
        self.jobs: dict[int, tuple[Iterator[list[FoundTarget]], list[FoundTarget]]] = {}
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
        match message:
            case Buffer():
                self.workspace.put(message.path, message.text)
            case Cancel():
                self.jobs.pop(message.id, None)
            case IndexRequest():
                self.jobs[message.id] = (self.workspace.index(message.roots, message.only), [])
            case TargetsRequest():
                try:
                    if message.text is not None:
                        self.workspace.put(message.path, message.text)
                    self.send(TargetsAnswer(message.id, self.workspace.targets(message.path, message.roots)))
                except Exception as error:  # noqa: BLE001 - one bad file must not end the service of the others
                    self.fail(message.id, error)

    def work(self) -> None:
        """A slice of the oldest index."""
        number, (files, found) = next(iter(self.jobs.items()))
        end = time.monotonic() + _SLICE_SECONDS
        try:
            for targets in files:
                found += targets
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
        self.send(Failure(number, f"{type(error).__name__}: {error}"))

    def send(self, answer: Answer) -> None:
        body = self.encoder.encode(answer)
        self.sink.write(len(body).to_bytes(4, "big") + body)
        self.sink.flush()
