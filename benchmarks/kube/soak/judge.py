"""What must not happen in a soak, looked for while it runs and once more when all is over."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks.kube.soak.history import Jobs, Life, Pods, SeenPod
from benchmarks.kube.soak.load import PRIORITIES

SERVED_SECONDS = 180.0
"""Within so long whoever others have left for must be bound; victims may take 5 s, others their places."""
MOST_ROUNDS = 5
"""So often others may have to leave for a group before it is bound once: guests take places meanwhile."""
MOST_TIMES = 3
"""So often the same may have to leave for the same."""
RACE_SECONDS = 5.0
HIGHEST_SECONDS = 300.0
"""Within so long the highest class is bound, whole racks that protected pods are on included."""


@dataclass(slots=True)
class Judge:
    pods: Pods
    jobs: Jobs
    breaches: list[str] = field(default_factory=list)
    races: int = 0
    """Pods of ours that a kubelet refused because kube-scheduler had the same idea."""
    _judged: set[int] = field(default_factory=set)
    _said: set[str] = field(default_factory=set)

    def look(self) -> list[str]:
        """What is new since the last look."""
        found = [*self._ranks(), *self._vain(), *self._cycles(), *self._refusals(), *self._starving()]
        return self.note(found)

    def note(self, found: list[str]) -> list[str]:
        new = [breach for breach in dict.fromkeys(found) if breach not in self._said]
        self._said.update(new)
        self.breaches += new
        return new

    def _ranks(self) -> Iterator[str]:
        for life in self._new("rank", self.pods.evictions):
            higher, lower = map(int, life.waived.split(" > "))
            if not life.priority <= lower < higher:
                yield f"{life.name}, priority {life.priority}, left for {life.evicted_for}: {life.waived}"

    def _vain(self) -> Iterator[str]:
        now = time.monotonic()
        for name, group in self.pods.groups.items():
            if not group.served and now - group.last > SERVED_SECONDS:
                yield f"others left for {name}, and {SERVED_SECONDS:.0f} s later nothing of it is bound"

    def _cycles(self) -> Iterator[str]:
        for name, group in self.pods.groups.items():
            if group.most_rounds > MOST_ROUNDS:
                yield f"others had to leave for {name} more than {MOST_ROUNDS} times before it was bound"
        for (victim, name), moments in self.pods.pairs.items():
            if len(moments) > MOST_TIMES:
                yield f"{victim} had to leave for {name} more than {MOST_TIMES} times"

    def _refusals(self) -> Iterator[str]:
        for life in self._new("refusal", self.pods.refusals):
            if life.scheduler != "maitred":
                continue
            if self.pods.is_explained(life, RACE_SECONDS):
                self.races += 1
            else:
                yield f"{life.name} was refused by {life.node}, {life.refused}, and no one else came there"

    def _starving(self) -> Iterator[str]:
        now, highest = time.monotonic(), max(PRIORITIES.values())
        for pod in self.pods.here.values():
            life = self.pods.lives[pod.metadata.uid]
            if life.bound is None and life.priority == highest and now - life.born > HIGHEST_SECONDS:
                yield f"{life.party}, of the highest priority, waits for {HIGHEST_SECONDS:.0f} s: {why(pod)}"

    def _new(self, question: str, lives: list[Life]) -> Iterator[Life]:
        for life in lives:
            if (mark := hash((question, id(life)))) not in self._judged:
                self._judged.add(mark)
                yield life

    # -- the end ---------------------------------------------------------------------------------------

    def left_over(self) -> list[str]:
        """What is not over, although nobody comes any more."""
        suspended = [f"{name} is still suspended" for name in self.jobs.suspended()]
        waiting = [
            f"{key} still waits: {why(p)}" for key, p in self.pods.here.items() if not p.spec.node_name
        ]
        running = [f"Job {name} is not over" for name in self.jobs.unfinished()]
        return [*suspended, *waiting, *running]

    def failed(self) -> list[str]:
        """Jobs that did not survive it. Of pods that a kubelet refused too many are a Job's end."""
        refused = {life.party for life in self.pods.refusals}
        return [f"{name} {how}" for name, how in self.jobs.failed().items() if name not in refused]


def why(pod: SeenPod) -> str:
    """What it was told."""
    return next((told.message for told in pod.status.conditions if told.type == "PodScheduled"), "untold")
