"""The pages on installing and removing maitred, carried out command by command on a real API server.

Commands of kubectl and maitred are run by a shell, as an administrator types them. Others, such as those that
build an image, are not. A file that the page says to save is saved. What is shown is compared to the page; a
command that only looks is given again until it shows what the page shows, as a person would do.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.build import programs
from maitred.sandbox.controlplane.run import ControlPlane
from tests.docs.console import ROOT, Block, Step, agrees, blocks

DEADLINE_SECONDS = 60.0
RUN = ("kubectl", "maitred")
LOOKS = {"get", "describe", "wait", "--dry-run=server"}

_SAVED = re.compile(r"as\s`([\w-]+\.yaml)`:\n\n```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
_AGE = re.compile(r"\b\d+s\b")


@dataclass(frozen=True)
class Shell:
    """Where the commands of a page are run."""

    plane: ControlPlane
    folder: Path

    def save_files_of(self, page: str) -> None:
        for name, content in _SAVED.findall((ROOT / "docs" / page).read_text()):
            (self.folder / name).write_text(content)

    def follow(self, page: str, section: str) -> None:
        found = list(blocks_of(page, section))
        assert found, f"{page} has no commands under {section}"
        for block in found:
            self.replay(block)

    def replay(self, block: Block) -> None:
        for step in block.steps:
            if step.command.split()[0] in RUN:
                self._take(block, step)

    def _take(self, block: Block, step: Step) -> None:
        deadline = time.monotonic() + DEADLINE_SECONDS
        looks = not LOOKS.isdisjoint(step.command.split())
        while True:
            done = self.run(step.command)
            if done.returncode == 0 and agrees(plain(step.shown), "\n".join(plain(done.stdout.splitlines()))):
                return
            in_time = looks and time.monotonic() < deadline
            assert in_time, f"{block}: $ {step.command}\n{done.stdout}{done.stderr}"
            time.sleep(0.2)

    def must(self, command: str) -> str:
        """What a command prints that is on no page, and that must not fail."""
        done = self.run(command)
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        places = (Path(sys.executable).parent, programs(self.plane.release, print), os.environ["PATH"])
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            env={
                **os.environ,
                "PATH": os.pathsep.join(map(str, places)),
                "KUBECONFIG": str(self.plane.kubeconfig(ADMIN)),
            },
            cwd=self.folder,
            capture_output=True,
            text=True,
        )


def blocks_of(page: str, section: str) -> Iterator[Block]:
    path = ROOT / "docs" / page
    text = path.read_text()
    headings = [(text.count("\n", 0, match.start()) + 1, match[1]) for match in _HEADING.finditer(text)]
    for block in blocks(path):
        if [title for line, title in headings if line < block.line][-1] == section:
            yield block


def plain(lines: Sequence[str]) -> list[str]:
    """Ages differ from run to run, and with them the columns."""
    return [" ".join(_AGE.sub("0s", line).split()) for line in lines]
