"""Lines through a program."""

from __future__ import annotations

import collections
import functools
import logging
import signal
import subprocess
import threading
import weakref
from typing import AnyStr, Iterable, Iterator

from ._error import Error
from ._place import path

_log = logging.getLogger("bertutils")
_UTF8 = ("utf-8", "surrogateescape")  # bytes that are not UTF-8 pass through a str unchanged


def run(tool: str, lines: Iterable[AnyStr] | None = None, *options: str) -> list[AnyStr]:
    """Runs a program over lines and gives its rows, as stream does, in a list: run("embed", texts, "-m", "my-model")."""
    return list(stream(tool, lines, *options))


def stream(tool: str, lines: Iterable[AnyStr] | None = None, *options: str) -> Rows[AnyStr]:
    """Starts a program, feeds it lines, and gives its rows as they come, in an iterator.

    tool     a program of man bert-tools, such as "embed"
    lines    its input, of str or of bytes; the rows are of the same kind. A line may hold line feeds if the program
             has the option -0, as the programs have that read texts; one at its end does not count. None: no input.
             Another thread iterates `lines`, in step with the program, so that long and slow inputs work.
    options  the program's options and files

    Each row is a line of the program's output, without its end: fields separated by tabs (man bert-tsv). Binary
    outputs, such as --npy, are not rows: give such an option an output file, or start path(tool) yourself.

    Warnings of the program go to the logger "bertutils". Raises Error if the program fails, with its message and
    status, after the rows that came before. Status 1 is no failure: it is an answer, "no". If `lines` raises an
    exception, the program is ended, and the iterator raises the same exception. If the caller stops early, the
    program is ended too: at the end of `with`, by close(), or when the iterator is forgotten.
    """
    return Rows(tool, lines, options)


@functools.lru_cache(maxsize=None)
def _knows_null(program: str) -> bool:
    return b"-0,--null" in subprocess.run([program, "--help"], stdout=subprocess.PIPE, check=False).stdout


class _Child:
    """A program that runs, with two threads: one writes its input, one reads its messages.

    Nothing here refers to Rows, so that a caller who forgets the rows ends the program at once.
    """

    def __init__(self, tool: str, lines: Iterable[str | bytes] | None, options: tuple[str, ...]) -> None:
        program = path(tool)
        null = "-0" in options or "--null" in options
        if lines is not None and not null and _knows_null(program):
            options, null = ("-0", *options), True
        self.tool, self.end = tool, b"\0" if null else b"\n"
        self.kind: type = str  # of the lines and the rows
        self.failure: BaseException | None = None  # of the lines
        self.messages: collections.deque[str] = collections.deque(maxlen=2)
        self.process = subprocess.Popen(
            [program, *options], stdin=subprocess.DEVNULL if lines is None else subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.listener = threading.Thread(target=self.listen, name="bertutils", daemon=True)
        self.listener.start()
        if lines is not None:
            threading.Thread(target=self.feed, args=(lines,), name="bertutils", daemon=True).start()

    def encode(self, number: int, line: str | bytes) -> bytes:
        data = line.encode(*_UTF8) if isinstance(line, str) else line
        data = data[:-1] if data.endswith(b"\n") else data
        if self.end in data:
            raise ValueError(f"line {number} holds {self.end!r}, which ends a line of {self.tool}")
        return data + self.end

    def feed(self, lines: Iterable[str | bytes]) -> None:
        try:
            for number, line in enumerate(lines, 1):
                data = self.encode(number, line)
                if number == 1:
                    self.kind = type(line)
                self.process.stdin.write(data)
                self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the program's status says why
        except BaseException as error:  # goes to who reads the rows
            self.failure = error
            self.process.kill()
        finally:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass

    def listen(self) -> None:
        """Logs each message when the next one comes: the last may be the error, which is raised instead."""
        with self.process.stderr as stderr:
            for line in stderr:
                if self.messages:
                    _log.warning(self.messages[-1])
                self.messages.append(line.decode(*_UTF8).rstrip("\n"))

    def row(self, data: bytes) -> str | bytes:
        return data.decode(*_UTF8) if self.kind is str else data

    def rows(self) -> Iterator[str | bytes]:
        pieces: list[bytes] = []
        stdout = self.process.stdout
        for chunk in iter(lambda: stdout.read1(1 << 16), b""):
            first, *others = chunk.split(self.end)
            pieces.append(first)
            for data in others:
                yield self.row(b"".join(pieces))
                pieces = [data]
        self.finish()
        if any(pieces):  # an output that is no rows, such as a help text
            yield self.row(b"".join(pieces))

    def finish(self) -> None:
        status = self.process.wait()
        self.listener.join()
        if self.failure:
            raise self.failure
        last = self.messages[-1] if self.messages else ""
        if status < 0:
            raise Error(f"{self.tool}: ended by {signal.Signals(-status).name}", status)
        if status not in (0, 1):
            raise Error(last or f"{self.tool}: ended with status {status}", status)
        if last:
            _log.warning(last)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Rows(Iterator[AnyStr]):
    """The rows of a program that runs: an iterator, and a context manager. See stream."""

    def __init__(self, tool: str, lines: Iterable[AnyStr] | None, options: tuple[str, ...]) -> None:
        if isinstance(lines, (str, bytes)):
            raise TypeError("lines: found one text, wants several, as in a list")
        child = _Child(tool, lines, options)
        self._rows = child.rows()
        self._kill = weakref.finalize(self, child.kill)  # at the latest when Python ends

    def __iter__(self) -> Rows[AnyStr]:
        return self

    def __next__(self) -> AnyStr:
        return next(self._rows)

    def __enter__(self) -> Rows[AnyStr]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the program, if it runs. There are no further rows."""
        self._rows = iter(())
        self._kill()
