"""`maitred up` as people use it: it starts, it can be used, and it leaves nothing behind."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

import pytest

from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.controlplane.toolchain import cache_directory

COMMAND = [sys.executable, "-m", "maitred.cli", "up"]
DEADLINE_SECONDS = 60.0
NO_MORE = ""
SMALL = """\
apiVersion: maitred.dev/v1alpha1
kind: World
kinds:
- {name: small, resources: {cpu: "8", nvidia.com/gpu: "8"}, nodes: 2}
"""


def as_started_by_hand() -> None:
    """Whoever runs the tests may ignore the end of a terminal, as nohup does, and children inherit that."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


class Up:
    """A sandbox that runs, and what it has said so far."""

    def __init__(self, home: Path, *options: str) -> None:
        self.kubeconfig = home / ".maitred" / "sandbox.kubeconfig"
        self.said: list[str] = []
        environment = {**os.environ, "HOME": str(home), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [*COMMAND, *options],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=as_started_by_hand,
        )
        self._unread: Queue[str] = Queue()
        self.reading = Thread(target=self._read, daemon=True)
        self.reading.start()

    def _read(self) -> None:
        """In a thread of its own: a line that never comes must not be waited for without end."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._unread.put(line)
        self._unread.put(NO_MORE)

    def until(self, words: str) -> str:
        """The line with these words."""
        end = time.monotonic() + DEADLINE_SECONDS
        with suppress(Empty):
            while line := self._unread.get(timeout=max(0.0, end - time.monotonic())):
                self.said.append(line)
                if words in line:
                    return line
        raise AssertionError(f"{words!r} was not said:\n{''.join(self.said)}")

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        try:
            self.process.wait(DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.reading.join(DEADLINE_SECONDS)
        while not self._unread.empty():
            self.said.append(self._unread.get())
        return self.process.returncode


@contextmanager
def up(home: Path, *options: str) -> Iterator[Up]:
    running = Up(home, *options)
    try:
        yield running
    finally:
        running.process.kill()
        with running.process:  # Closes its output, once nothing more can come.
            running.reading.join(DEADLINE_SECONDS)


def maitred(home: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "maitred.cli", *arguments],
        env={**os.environ, "HOME": str(home), "KUBECONFIG": ""},
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_seats_a_gang_and_is_gone_without_a_trace(tmp_path: Path) -> None:
    with up(tmp_path, "--story", "two-gangs") as running:
        running.until("The sandbox runs at https://127.0.0.1:")
        running.until("is Scheduled")
        assert running.kubeconfig.stat().st_mode & 0o077 == 0, "others could read the token"
        assert "64 nodes" in maitred(tmp_path, "sandbox", "floor")
        assert running.end() == 0
    assert not running.kubeconfig.parent.exists(), "the sandbox leaves nothing behind"
    assert not [name for name in running.said if "Traceback" in name]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_it_ends_when_it_is_asked_to(tmp_path: Path, number: int) -> None:
    world = tmp_path / "world.yaml"
    world.write_text(SMALL)
    with up(tmp_path, "--world", str(world)) as running:
        running.until("--for 30s")
        assert running.end(number) == 0
    assert "has stopped" in "".join(running.said)
    assert not running.kubeconfig.exists()


def test_it_ends_without_a_word_of_python_when_it_is_stopped_at_once(tmp_path: Path) -> None:
    """Before its parts have taken their first step."""
    with up(tmp_path, "--story", "two-gangs") as running:
        running.until("Ctrl-C stops it")
        assert running.end() == 0
    assert "coroutine" not in "".join(running.said)


@pytest.mark.slow
def test_two_in_one_place_are_refused(tmp_path: Path) -> None:
    world = tmp_path / "world.yaml"
    world.write_text(SMALL)
    with up(tmp_path, "--world", str(world)) as first:
        first.until("--for 30s")
        with up(tmp_path, "--world", str(world)) as second:
            assert "a sandbox is running already" in second.until("already")
            assert second.process.wait(DEADLINE_SECONDS) == 1
        elsewhere = tmp_path / "other.kubeconfig"
        with up(tmp_path, "--world", str(world), "--kubeconfig", str(elsewhere)) as third:
            third.until("--for 30s")
            assert third.end() == 0
        assert first.kubeconfig.exists(), "the end of one is not the end of the other"
        assert first.end() == 0


def test_what_a_killed_one_has_left_is_in_nobodys_way(tmp_path: Path) -> None:
    world = tmp_path / "world.yaml"
    world.write_text(SMALL)
    with up(tmp_path, "--world", str(world)) as killed:
        killed.until("--for 30s")
        killed.end(signal.SIGKILL)
    assert killed.kubeconfig.exists()
    with up(tmp_path, "--world", str(world)) as running:
        running.until("--for 30s")
        assert running.end() == 0


def test_the_file_of_someone_else_is_left_alone(tmp_path: Path) -> None:
    own = tmp_path / "config"
    own.write_text("my other clusters")
    with up(tmp_path, "--kubeconfig", str(own)) as running:
        running.until(f"{own}: exists already and was not written by a sandbox")
        assert running.process.wait(DEADLINE_SECONDS) == 2
    assert own.read_text() == "my other clusters"


def test_what_has_taken_the_place_of_its_file_is_left_alone(tmp_path: Path) -> None:
    world = tmp_path / "world.yaml"
    world.write_text(SMALL)
    with up(tmp_path, "--world", str(world)) as running:
        running.until("--for 30s")
        running.kubeconfig.write_text("my other clusters")
        assert running.end() == 0
    assert running.kubeconfig.read_text() == "my other clusters"


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / ".maitred").write_text("a file where a directory should be")
    with up(tmp_path) as running:
        line = running.until("cannot be written to")
        assert "name another file with --kubeconfig FILE" in line
        assert running.process.wait(DEADLINE_SECONDS) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--story", "nowhere"], "--story: 'nowhere' is neither a file nor one of these"),
        (["--world", "nowhere.yaml"], "nowhere.yaml"),
        (["--policy", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, options: list[str], words: str) -> None:
    with up(tmp_path, *options) as running:
        running.until(words)
        assert running.process.wait(DEADLINE_SECONDS) == 2
    assert not (tmp_path / ".maitred").exists()


@contextmanager
def on_a_terminal(home: Path, **more: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The process, and the other end of its terminal, which is for who uses it to close."""
    world = home / "world.yaml"
    world.write_text(SMALL)
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "--world", str(world)],
        env={**os.environ, "HOME": str(home), "TERM": "xterm", **more},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        preexec_fn=as_started_by_hand,
    ) as process:
        os.close(terminal)
        try:
            yield process, controller
        finally:
            process.kill()


def test_on_a_terminal_it_draws_the_floor(tmp_path: Path) -> None:
    with on_a_terminal(tmp_path, COLUMNS="120", LINES="40") as (process, controller):
        try:
            seen = read_until(controller, b"2 nodes; 16 of 16 nvidia.com/gpu free")
            assert b"sandbox stories" in seen + read_until(controller, b"--for 30s")
        finally:
            process.send_signal(signal.SIGINT)
            drain(controller)
            assert process.wait(DEADLINE_SECONDS) == 0
    os.close(controller)


@pytest.mark.slow
def test_it_ends_with_its_terminal(tmp_path: Path) -> None:
    kubeconfig = tmp_path / ".maitred" / "sandbox.kubeconfig"
    with on_a_terminal(tmp_path) as (process, controller):
        read_until(controller, b"2 nodes")
        assert kubeconfig.exists()
        os.close(controller)
        process.wait(DEADLINE_SECONDS)
    assert not kubeconfig.exists()


@pytest.mark.slow
def test_the_real_control_plane_takes_its_place(
    tmp_path: Path, control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fixture is asked for so that the programs are there; this starts another."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_directory().parent))
    with up(tmp_path, "--kubernetes", "1.37", "--story", "eight-workers") as running:
        running.until("The sandbox runs at https://127.0.0.1:")
        running.until("is Scheduled")
        assert running.end() == 0
    assert not running.kubeconfig.exists()


def read_until(source: int, words: bytes) -> bytes:
    seen, end = b"", time.monotonic() + DEADLINE_SECONDS
    while words not in seen:
        ready, _, _ = select.select([source], [], [], 1.0)
        if ready:
            seen += os.read(source, 65536)
        assert time.monotonic() < end, seen[-3000:]
    return seen


def drain(source: int) -> None:
    """A terminal that nobody reads blocks who writes to it."""
    try:
        while select.select([source], [], [], 2.0)[0]:
            if not os.read(source, 65536):
                return
    except OSError:
        return
