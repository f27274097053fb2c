"""Law 12: a tenant pays for its own lies.

Mallory writes whatever a user of one namespace may write: marks, owners, Jobs, groups. Beside her, in a twin
of the cluster, are the same pods without any of it. Every pod needs a whole node and all nodes are alike, so
nothing but lies could make a difference to others, whose gangs must fare at least as well as in the twin: the
first of them, in the order of decisions, that fares otherwise fares better.

What tells the twins apart goes the way that it goes in a scheduler: through the mirror, with its memory of
who leaves, who is suspended and who stands in. The laws are checked on all that was written.
"""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.snapshot import Snapshot
from maitred.controllers.owners.returns import Returns
from maitred.controllers.owners.suspensions import Suspensions
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.worklist import Worklist
from maitred.decide import Scope
from maitred.decide import decide as decide_snapshot
from maitred.decide.preemption.allowance import Heed
from maitred.kube.wire import WatchedGroup, WatchedJob, WatchedPod
from maitred.model.membership import GroupId
from maitred.model.policy import Policy
from maitred.model.suspension import SUSPENDED
from maitred.verify import verify
from tests.cluster.seen import put
from tests.controllers.owners.made import JOBS, SERVED, record
from tests.oracle.builders import Obj, gang, metadata, moment, node, pod, pod_group, priority_class
from tests.support import decide, policy_of

NODES = 4
NOW = datetime(2026, 1, 2, tzinfo=UTC)
ALICE, MALLORY = "alice", "mallory"
CLASSES = {"low": 0, "mid": 5, "high": 10}
POLICY: Obj = {
    "preemption": {
        "protection": {"namespaces": {"matchLabels": {"kubernetes.io/metadata.name": ALICE}}},
    }
}
"""Protection is a right that an administrator grants: see docs/policy.md."""
BEST_FIRST = ("Scheduled", "Preempting", "Waiting", "Impossible", "Invalid")
LONG = 3600.0

MARKS = st.dictionaries(
    st.sampled_from(
        [
            *("maitred.dev/non-preemptible", "maitred.dev/min-runtime", "maitred.dev/last-checkpoint"),
            *("maitred.dev/checkpoint-interval", "maitred.dev/run-time", "maitred.dev/seating", SUSPENDED),
        ]
    ),
    st.sampled_from(["true", "false", "100d", "soon", "2036-01-01T00:00:00Z", "{}", "-1", "\x00", "9" * 500]),
    max_size=3,
) | st.just({"maitred.dev/non-preemptible": "true"})
LABELS = ["app", "job-name", "maitred.dev/group"]
GROUPS = st.none() | st.tuples(st.sampled_from(["g", "h", "gang0"]), st.sampled_from([0, 1, 3, 10**6, -1]))
OWNERS = st.none() | st.tuples(
    st.sampled_from(["Job", "ReplicaSet", "PodGroup"]),  # pods of DaemonSets and of nodes never leave
    st.sampled_from(["uid-alice", "uid-away", "uid-theirs", "", "made-up"]),
    st.booleans(),
)


RANKS = st.sampled_from(sorted(CLASSES))
INDEXES = st.sampled_from(["", "", "0", "0-2147483646", "1,3-2", ",".join(map(str, range(0, 999, 2)))])
"""What may stand in the status of a Job."""


@dataclass(frozen=True)
class Lie:
    """What else a pod says of itself."""

    marks: dict[str, str]
    group: tuple[str, int] | None
    declared: bool
    owner: tuple[str, str, bool] | None
    gated: bool
    labels: dict[str, str]

    def told(self, name: str, own: Obj) -> Obj:
        body = pod(
            name,
            1,
            **own,
            annotations={**self.marks, **({} if self.group is None else gang(*self.group))},
            labels=self.labels,
            group="pg" if self.declared else None,
            gates=["example.com/gate"] if self.gated and own["node"] is None else [],
        )
        if self.owner is not None:
            kind, uid, controls = self.owner
            api = "batch/v1" if kind == "Job" else "apps/v1"
            reference = {"apiVersion": api, "kind": kind, "name": uid, "uid": uid, "controller": controls}
            body["metadata"]["ownerReferences"] = [reference]
        return body


LIES = st.builds(
    Lie,
    MARKS,
    GROUPS,
    st.booleans(),
    OWNERS,
    st.booleans(),
    st.dictionaries(st.sampled_from(LABELS), st.just("x"), max_size=2),
)


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


class Side:
    """A scheduler without a server, which decides and does not carry out."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.mirror, self.agenda = Mirror("maitred", clock=self.clock), Worklist()
        writer: Any = None  # nothing is ever to be written for what nobody but mallory says
        self.returns = Returns(
            self.mirror, self.agenda, Suspensions(writer, "own", "maitred", SERVED), "maitred"
        )
        self.objects: dict[tuple[str, str], Obj] = {}
        fixed = [node(f"n{number}", cpu=1) for number in range(NODES)]
        for item in (*fixed, *(priority_class(name, value) for name, value in CLASSES.items())):
            self.objects[item["kind"], item["metadata"]["name"]] = item
            put(self.mirror.state, item)

    def put(self, item: Obj) -> None:
        kind, meta = item["kind"], item["metadata"]
        self.objects[kind, f"{meta['namespace']}/{meta['name']}"] = item
        if kind == "Pod":
            self.mirror.put_pod(msgspec.convert(item, WatchedPod))
        elif kind == "Job":
            self.returns.put(JOBS, msgspec.convert(item, WatchedJob))
        else:
            self.mirror.put_group(msgspec.convert(item, WatchedGroup))

    def gone(self, pod: str) -> None:
        del self.objects["Pod", pod]
        self.mirror.pod_gone(pod)

    async def decided(self) -> dict[str, str]:
        """Verdicts by group."""
        self.mirror.overlay.let_stay()
        await self.returns.prepare()
        assert not self.mirror.overlay.stand_ins, "nobody stands in for what only mallory says"
        plan = decide_snapshot(self.mirror.state.snapshot(), policy_of(POLICY), NOW, Scope("maitred"))
        return {verdict.group: verdict.verdict for verdict in plan.groups}


class RandomTenant(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.lies, self.plain = Side(), Side()
        self.free = [f"n{number}" for number in range(NODES)]
        self.pods: list[str] = []
        self.hers_came = 0
        self.made = 0
        self.gangs: dict[str, str] = {}

    @initialize(first=st.booleans())
    def mallory_comes(self, first: bool) -> None:
        """All of hers came before others, or after: a group is as old as its oldest member, by design."""
        self.hers_came = 0 if first else 1000

    @rule(size=st.integers(1, NODES), rank=RANKS)
    def others_send_a_gang(self, size: int, rank: str) -> None:
        name = f"gang{len(self.gangs)}"
        self.gangs[name] = rank
        for number in range(size):
            body = pod(
                f"{name}-{number}",
                1,
                namespace=ALICE,
                annotations=gang(name, size),
                **self._ranked(rank),
                created=100 + len(self.gangs),
                scheduler="maitred",
            )
            self.lies.put(body)
            self.plain.put(body)

    @rule(runs=st.booleans(), lie=LIES, rank=RANKS)
    def she_makes_a_pod(self, runs: bool, lie: Lie, rank: str) -> None:
        self._make(self.free.pop() if runs and self.free else None, lie, rank)

    @rule(lie=LIES, rank=RANKS)
    def she_fills_the_cluster(self, lie: Lie, rank: str) -> None:
        while self.free:
            self._make(self.free.pop(), lie, rank)

    def _make(self, where: str | None, lie: Lie, rank: str) -> None:
        self.made += 1
        name = f"p{self.made}"
        self.pods.append(name)
        own: Obj = {
            "namespace": MALLORY,
            "node": where,
            "created": self.hers_came,
            "scheduler": "maitred",
            **self._ranked(rank),
        }
        self.plain.put(started(pod(name, 1, **own)))
        self.lies.put(started(lie.told(name, own)))

    @rule(quorum=st.sampled_from([1, 3, 10**6]), atomic=st.booleans())
    def she_declares_a_group(self, quorum: int, atomic: bool) -> None:
        mode: Obj = {"disruption": "all"} if atomic else {}
        self.lies.put(pod_group("pg", quorum, namespace=MALLORY, created=self.hers_came, **mode))

    @rule(
        uid=st.sampled_from(["uid-away", "uid-theirs"]),
        suspend=st.booleans(),
        manager=st.sampled_from(["", "kubernetes.io/job-controller", "example.com/nobody"]),
        size=st.sampled_from([1, 2, NODES, 10_000, 2**31 - 1]),
        marked=st.booleans(),
        mode=st.sampled_from(["Indexed", "NonIndexed"]),
        status=INDEXES,
        line=st.sampled_from(["", "{}", str(record(key="mallory/uid-away", uid="uid-away"))]),
        active=st.integers(0, 3),
    )
    def she_writes_a_job(
        self,
        uid: str,
        suspend: bool,
        manager: str,
        size: int,
        marked: bool,
        mode: str,
        status: str,
        line: str,
        active: int,
    ) -> None:
        """She may write it again, with another size."""
        spec = {"parallelism": size, "completions": size, "completionMode": mode, "suspend": suspend}
        made = self._job(uid, spec, status, active, {"annotations": gang("g", 3) if marked else {}})
        made["metadata"]["annotations"] = {SUSPENDED: line} if line else {}
        made["spec"] |= {"managedBy": manager} if manager else {}
        self.lies.put(made)

    @rule(
        count=st.sampled_from([2, NODES]),
        runs=st.sampled_from([True, True, False]),
        rank=RANKS,
        lie=st.sampled_from(["", "", "", "fewer", "more", "ten thousand", "another UID", "forged status"]),
        status=INDEXES,
    )
    def she_runs_a_job_that_is_one_gang(
        self, count: int, runs: bool, rank: str, lie: str, status: str
    ) -> None:
        """By its form alone. It may have fewer pods than it says, or more, or another UID than they name."""
        uid, size = (
            f"uid-job{self.made}",
            count + {"fewer": 1, "more": -1, "ten thousand": 10_000}.get(lie, 0),
        )
        spec = {"parallelism": size, "completions": size, "completionMode": "Indexed"}
        made = self._job(uid, spec, status if lie == "forged status" else "", 0, {})
        made["metadata"]["uid"] = lie if lie == "another UID" else uid
        self.lies.put(made)
        owned = Lie({}, None, False, ("Job", uid, True), False, {})
        for _ in range(count):
            self._make(self.free.pop() if runs and self.free else None, owned, rank)

    def _job(self, uid: str, spec: Obj, status: str, active: int, about: Obj) -> Obj:
        body = {
            "schedulerName": "maitred",
            "priority": 2_000_000_000,
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}],
        }
        counts = {"active": active, "terminating": active, "succeeded": active}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {**metadata(uid, MALLORY, created=self.hers_came), "uid": uid},
            "spec": {**spec, "template": {"metadata": about, "spec": body}},
            "status": {**counts, "completedIndexes": status, "failedIndexes": status[:1]},
        }

    @precondition(lambda self: self.pods)
    @rule(choice=st.integers(0, 10**6))
    def she_deletes_a_pod(self, choice: int) -> None:
        key = f"{MALLORY}/{self.pods.pop(choice % len(self.pods))}"
        where = self.plain.objects["Pod", key]["spec"].get("nodeName")
        self.free += [where] if where else []
        self.plain.gone(key)
        self.lies.gone(key)

    @rule(seconds=st.sampled_from([1.0, 100.0]))
    def time_passes(self, seconds: float) -> None:
        self.lies.clock.now += seconds
        self.plain.clock.now += seconds

    @rule()
    def others_fare_as_beside_plain_pods(self) -> None:
        lies = self.runner.run(self.lies.decided())
        plain = self.runner.run(self.plain.decided())
        for group in self.turns():
            got, due = BEST_FIRST.index(lies[group]), BEST_FIRST.index(plain[group])
            assert got <= due, f"{group}: {lies[group]}, beside plain pods {plain[group]}"
            if got < due:
                return  # it has room that those behind it would have had beside plain pods

    def turns(self) -> list[str]:
        """The gangs of others, in the order in which they are decided."""
        ordered = sorted(self.gangs, key=lambda name: (-CLASSES[self.gangs[name]], len(name), name))
        return [f"{ALICE}/{name}" for name in ordered]

    def _ranked(self, name: str) -> Obj:
        """As admission leaves it: the number is that of the class."""
        return {"priority": CLASSES[name], "priority_class": name}

    def teardown(self) -> None:
        with self.runner:
            self.time_passes(LONG)
            self.others_fare_as_beside_plain_pods()
        objects = list(self.lies.objects.values())
        plan = decide(objects, POLICY, NOW.isoformat(), "maitred")
        breaches = verify(objects, plan, POLICY, "maitred", NOW)
        assert not breaches, "\n".join(f"{b.name}: {b.subject}: {b.message}" for b in breaches)


def started(body: Obj) -> Obj:
    if body["spec"].get("nodeName"):
        body["status"]["startTime"] = moment(2000)
    return body


RandomTenant.TestCase.settings = settings(max_examples=120, stateful_step_count=20)
test_law_12_a_tenant_pays_for_its_own_lies = RandomTenant.TestCase


# -- the machine itself ------------------------------------------------------------------------------------


def everybody_is_heeded(snapshot: Snapshot, policy: Policy, claims: Mask, devices: Ints) -> Ints:
    return np.full(len(claims), Heed.HEEDED, dtype=np.int64)


def in_the_namespace_of_others(_: object, source: str, name: str) -> GroupId:
    return GroupId(source, f"{ALICE}/{name}")


PLANTED: dict[str, tuple[str, object]] = {
    "marks that protect count for everybody": (
        "maitred.decide.preemption.evictable.heeds",
        everybody_is_heeded,
    ),
    "a group is what it is called, wherever it is": (
        "maitred.model.membership.settling._Settling._id",
        in_the_namespace_of_others,
    ),
}
"""Defects by which a liar would gain something, and where they are planted."""


@pytest.mark.parametrize("defect", PLANTED)
def test_the_random_tenant_finds_a_planted_defect(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that finds nothing must be one that could find something."""
    monkeypatch.setattr(*PLANTED[defect])
    looking = settings(
        max_examples=120, stateful_step_count=20, phases=[Phase.generate], report_multiple_bugs=False
    )
    with pytest.raises(AssertionError):
        run_state_machine_as_test(RandomTenant, settings=looking)
