"""Terminals on which pages are tried out: real ones, of 100 columns, as a reader has them.

A `Shell` takes one command after the other. A `Screen` is for a program that draws the whole terminal anew, a
few times a second, until Ctrl-C.
"""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

COLUMNS, LINES = 100, 30
PATIENCE_S = 60.0
HOME = "\x1b[H"
"""A program that draws the whole terminal begins with this."""
LEAVE = "\x1b[?1049l"
"""It ends with this: what was there before comes back."""

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PASSING = re.compile(r"\x1b\[\?25l.*?\x1b\[\?25h\s+(?:\x1b\[\d+[AK])+", re.DOTALL)
_DONE = re.compile("\x1e(\\d+)\x1e")


class Terminal:
    """A program, and the terminal that it writes to."""

    def __init__(self, command: str, folder: Path, environment: Mapping[str, str]) -> None:
        self.written = ""
        self._own, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc", *(["-c", command] if command else [])],
            cwd=folder,
            env={**environment, "TERM": "xterm-256color"},
            stdin=subprocess.PIPE,
            stdout=its,
            stderr=its,
            start_new_session=True,
        )
        os.close(its)
        self._news = threading.Condition()
        self._has_ended = False
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def wait_for(self, comes: Callable[[], bool]) -> bool:
        """Whether it comes, before the program ends and before patience does."""
        with self._news:
            self._news.wait_for(lambda: comes() or self._has_ended, PATIENCE_S)
            return comes()

    def _read(self) -> None:
        """All the time: a program on a terminal that nobody reads stops sooner or later."""
        while got := read(self._own):
            with self._news:
                self.written += got.decode(errors="replace").replace("\r\n", "\n")
                self._news.notify()
        with self._news:
            self._has_ended = True
            self._news.notify()

    def send(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()

    def interrupt(self) -> None:
        """As Ctrl-C does: everybody on this terminal is told."""
        os.killpg(self._process.pid, signal.SIGINT)

    def close(self) -> None:
        """Nobody stays behind."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._reader.join()
        os.close(self._own)


class Shell(Terminal):
    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        super().__init__("", folder, environment)

    def run(self, command: str) -> tuple[int, str]:
        """The status of a command and what the terminal shows of it."""
        start = len(self.written)
        self.send(f"{{ {command}\n}} </dev/null\nprintf '\\036%d\\036' $?\n")
        self.wait_for(lambda: _DONE.search(self.written, start) is not None)
        done = _DONE.search(self.written, start)
        assert done is not None, f"{command}: not done after {PATIENCE_S:.0f} s\n{self.written[start:]}"
        return int(done[1]), plain(self.written[start : done.start()])


class Screen(Terminal):
    @property
    def frame(self) -> str:
        """The last that was drawn to its end, with its colours; empty if there is none yet."""
        frames = self.written.partition(LEAVE)[0].split(HOME)
        return frames[-2].strip("\n") if len(frames) > 2 else ""

    def show(self, holds: Callable[[str], bool]) -> str:
        """The frame of which this holds; if there is none in time, the last one."""
        self.wait_for(lambda: bool(self.frame) and holds(plain(self.frame)))
        return self.frame or self.written

    def leave(self) -> str:
        """Ctrl-C, and what is then on the terminal."""
        self.interrupt()
        self.wait_for(lambda: False)
        return plain(self.written.partition(LEAVE)[2])


def read(terminal: int) -> bytes:
    """Nothing when the last program has closed it."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # So Linux says it.
        return b""


def plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in _CONTROL.sub("", without_bars(text)).split("\n"))


def without_bars(text: str) -> str:
    """What was drawn while the cursor was hidden and taken off the screen again: how far something is."""
    return _PASSING.sub("", text)
