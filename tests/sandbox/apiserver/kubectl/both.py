"""kubectl on the sandbox and on a real API server at once: it must not see a difference."""

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from threading import Timer

PATIENCE_S = 30
NOISE = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "<time>"),
    (re.compile(r'(resourceVersion"?: ?)"\d+"'), r'\1"<version>"'),
    (re.compile(r"(Resource Version:\s+)\d+"), r"\1<version>"),
    (re.compile(r"https?://127\.0\.0\.1:\d+"), "<server>"),
    (re.compile(r"/tmp/\S+"), "<file>"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}"), "<time>"),
    (re.compile(r"Warning: .* is deprecated in v1\.4.*\n"), ""),
    (re.compile(r"^[IWE]\d{4} \S+ +\d+ reflector\.go.*\n", re.MULTILINE), ""),
    (re.compile(r"\b\d+[smh](\d+[sm])?\b"), "<age>"),
    (re.compile(r"[ \t]+"), " "),
    (re.compile(r"-+\n"), "-\n"),
)
"""What differs between any two servers, and the width of columns, which follows from it. The real server is
built here without its minor version, and warns of what is yet to be deprecated. It speaks HTTP/2, over
which kubectl logs nothing when it gives up on a watch."""


@dataclass(frozen=True, slots=True)
class Output:
    code: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"exit code {self.code}\n{self.out}{self.err}"


@dataclass(frozen=True, slots=True)
class Kubectl:
    program: Path
    kubeconfig: Path
    namespace: str

    def command(self, *arguments: str) -> list[str]:
        return [
            str(self.program),
            f"--kubeconfig={self.kubeconfig}",
            f"--namespace={self.namespace}",
            *(argument.replace("{ns}", self.namespace) for argument in arguments),
        ]

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Output:
        # What kubectl remembers of a server goes beside its kubeconfig, and so away with the server.
        settings = {"KUBECACHEDIR": f"{self.kubeconfig.parent}/cache-{self.kubeconfig.stem}", **environment}
        done = subprocess.run(
            self.command(*arguments),
            input=stdin.replace("{ns}", self.namespace),
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return Output(done.returncode, done.stdout, done.stderr)

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        """A command that goes on until it is stopped."""
        return subprocess.Popen(
            self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
        )


@dataclass(frozen=True, slots=True)
class Both:
    ours: Kubectl
    real: Kubectl

    def __call__(
        self,
        *arguments: str,
        stdin: str = "",
        view: Callable[[str], str] = lambda text: text,
        **environment: str,
    ) -> str:
        """What both say, if they say the same. `view`: the part of it that must be the same."""
        ours = self.ours(*arguments, stdin=stdin, **environment)
        real = self.real(*arguments, stdin=stdin, **environment)
        compare(view(plain(str(ours))), view(plain(str(real))), arguments)
        return ours.out + ours.err

    def lines(self, count: int, *arguments: str, during: Callable[[Kubectl], object]) -> list[str]:
        """The first lines of a command that goes on, while other things happen."""
        shown = [follow(side, count, arguments, during) for side in (self.ours, self.real)]
        compare("".join(shown[0]), "".join(shown[1]), arguments)
        return shown[0]


def compare(ours: str, real: str, arguments: tuple[str, ...]) -> None:
    if ours != real:
        lines = unified_diff(real.splitlines(), ours.splitlines(), "real", "ours", lineterm="")
        raise AssertionError("\n".join((f"kubectl {' '.join(arguments)}", *lines)))


def follow(
    side: Kubectl, count: int, arguments: tuple[str, ...], during: Callable[[Kubectl], object]
) -> list[str]:
    with side.begin(*arguments) as process:
        # A line that never comes must not hold up the others.
        alarm = Timer(PATIENCE_S, process.kill)
        alarm.start()
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            during(side)
            return [plain(line) for line in (first, *(process.stdout.readline() for _ in range(count - 1)))]
        finally:
            alarm.cancel()
            process.kill()


def plain(text: str) -> str:
    for pattern, name in NOISE:
        text = pattern.sub(name, text)
    return text
