"""Owners of every kind come back as Jobs do, and what is Kueue's comes back by Kueue."""

from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from maitred.explain.situation import Situation
from maitred.explain.why.why import why
from maitred.kube.wire import WATCHED_OWNERS, WatchedOwner, WatchedOwnerOfPods, WatchedPod
from maitred.model.operators.kueue import KueueWorkload
from maitred.model.suspending import BY_TITLE, OwnerName
from maitred.model.suspension import Suspension
from tests.controllers.owners.house import NOW, House, bound, guest, in_house, room
from tests.controllers.owners.made import record
from tests.controllers.watched import watched_pod
from tests.decide.test_top_owners import reference, suspend
from tests.oracle.builders import node

KEY = "default/train"
SPEC = {"schedulerName": "maitred", "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}
TEMPLATE = {"spec": SPEC}
RAY = {
    "headGroupSpec": {"template": TEMPLATE},
    "workerGroupSpecs": [{"groupName": "w", "replicas": 3, "minReplicas": 3, "template": TEMPLATE}],
}
MOST = 2**31 - 1


def job_set(parallelism: int = 2, replicas: int = 2) -> dict[str, Any]:
    spec = {"parallelism": parallelism, "completions": parallelism, "completionMode": "Indexed"}
    job = {"spec": {**spec, "template": TEMPLATE}}
    return {"replicatedJobs": [{"name": "workers", "replicas": replicas, "template": job}]}


SPECS: dict[str, dict[str, Any]] = {
    "JobSet": job_set(),
    "RayCluster": RAY,
    "RayJob": {"rayClusterSpec": RAY, "shutdownAfterJobFinishes": True, "submissionMode": "HTTPMode"},
    "PyTorchJob": {
        "pytorchReplicaSpecs": {
            "Master": {"replicas": 1, "template": TEMPLATE},
            "Worker": {"replicas": 3, "template": TEMPLATE},
        }
    },
    "MPIJob": {"mpiReplicaSpecs": {"Worker": {"replicas": 4, "template": TEMPLATE}}},
}
HUGE: dict[str, dict[str, Any]] = {
    "JobSet": job_set(MOST, MOST),
    "RayCluster": {
        **RAY,
        "workerGroupSpecs": [{"groupName": "w", "replicas": MOST, "numOfHosts": 1000, "template": TEMPLATE}],
    },
    "PyTorchJob": {"pytorchReplicaSpecs": {"Worker": {"replicas": MOST, "template": TEMPLATE}}},
    "MPIJob": {"mpiReplicaSpecs": {"Worker": {"replicas": MOST, "template": TEMPLATE}}},
}


def owner(
    kind: str,
    name: str = "train",
    *,
    spec: dict[str, Any] | None = None,
    away: bool = True,
    above: tuple[str, str] | None = None,
    generation: int = 2,
    labels: dict[str, str] | None = None,
) -> WatchedOwnerOfPods:
    spec = SPECS.get(kind, {}) if spec is None else spec
    flag = suspend(kind) if away else {}
    body = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"{kind}-{name}".lower() if kind != "Job" else f"Job-{name}",
            "generation": generation,
            "creationTimestamp": "2026-01-01T00:00:05Z",
            "labels": labels or {},
            "ownerReferences": [] if above is None else [lower(*above)],
        },
        "spec": {**spec, **flag},
    }
    return msgspec.convert(body, WATCHED_OWNERS[BY_TITLE[kind].type])


def lower(kind: str, name: str) -> dict[str, Any]:
    made = reference(kind, name)
    return {**made, "uid": made["uid"] if kind == "Job" else made["uid"].lower()}


def kept(kind: str, **changes: Any) -> Suspension:
    return record(kind=kind, key=KEY, uid=f"{kind}-train".lower(), **changes)


def put(house: House, kind: str, one: WatchedOwnerOfPods, about: Suspension | None = None) -> None:
    house.returns.put(BY_TITLE[kind], one)
    if about is not None:
        house.suspensions.put("own/train", str(about))


def pods(kind: str, name: str, *indexes: int, **fields: Any) -> list[WatchedPod]:
    found = [watched_pod(f"{name}-{index}", cpu=1, created=60, **fields) for index in indexes]
    above = msgspec.convert(lower(kind, name), type=WatchedOwner)
    return [
        msgspec.structs.replace(
            pod, metadata=msgspec.structs.replace(pod.metadata, owner_references=(above,))
        )
        for pod in found
    ]


def stand_ins(house: House, kind: str) -> list[str]:
    return sorted(house.mirror.overlay.standing.get(OwnerName(kind, KEY), ()))


@dataclass
class Below:
    """What an operator makes between its object and the pods, when it is resumed."""

    controller: tuple[str, str]
    objects: list[tuple[str, WatchedOwnerOfPods]] = field(default_factory=list)


def made_by(kind: str) -> list[Below]:
    """Four pods in all."""
    if kind == "JobSet":
        jobs = [f"train-workers-{number}" for number in range(2)]
        spec = job_set()["replicatedJobs"][0]["template"]["spec"]
        labels = {"jobset.sigs.k8s.io/replicatedjob-name": "workers"}
        return [
            Below(
                ("Job", job),
                [("Job", owner("Job", job, spec=spec, away=False, above=(kind, "train"), labels=labels))],
            )
            for job in jobs
        ]
    if kind == "RayJob":
        cluster = owner("RayCluster", "train-x7", away=False, above=("RayJob", "train"))
        return [Below(("RayCluster", "train-x7"), [("RayCluster", cluster)])]
    return [Below((kind, "train"))]


@pytest.mark.parametrize("kind", sorted(SPECS))
def test_an_owner_keeps_its_turn_and_comes_back_whole(kind: str) -> None:
    async def story(house: House) -> None:
        house.put(guest())
        put(house, kind, owner(kind), kept(kind))
        plan = await house.cycle()
        assert len(stand_ins(house, kind)) == 4
        (verdict,) = plan.groups
        assert (verdict.verdict, verdict.members, verdict.quorum) == ("Waiting", 4, 4)
        assert not house.api.resumed
        house.gone("guest")
        assert (await house.cycle()).binds == ()
        assert (house.api.resumed, house.api.dropped) == ([KEY], [f"maitred-suspension-{kind.lower()}-train"])
        hold = house.mirror.overlay.hold("Return", f"{kind} {KEY}")
        assert hold is not None
        assert len(hold.places) == 4
        put(house, kind, owner(kind, away=False, generation=3))
        house.suspensions.gone("own/train")
        below = made_by(kind)
        for title, one in (pair for each in below for pair in each.objects):
            put(house, title, one)
        coming = [pod for each in below for pod in pods(*each.controller, *range(4 // len(below)))]
        house.put(*coming[:3])
        assert bound(await house.cycle()) == [], "a gang is not seated in part"
        house.put(coming[3])
        assert len(bound(await house.cycle())) == 4
        assert stand_ins(house, kind) == []
        assert not house.mirror._imagined

    in_house(room, story)


@pytest.mark.parametrize("kind", sorted(SPECS))
def test_without_a_record_nobody_stands_in(kind: str) -> None:
    async def story(house: House) -> None:
        put(house, kind, owner(kind))
        await house.cycle()
        assert stand_ins(house, kind) == []
        assert not house.api.resumed

    in_house(room, story)


@pytest.mark.parametrize("kind", sorted(HUGE))
def test_no_more_pods_stand_in_than_have_left(kind: str) -> None:
    async def story(house: House) -> None:
        house.put(guest())
        put(house, kind, owner(kind, spec=HUGE[kind]), kept(kind, members=3))
        await house.cycle()
        assert len(stand_ins(house, kind)) <= 3

    in_house(room, story)


def test_a_record_about_an_object_of_another_kind_is_no_record() -> None:
    async def story(house: House) -> None:
        put(house, "JobSet", owner("JobSet"), msgspec.structs.replace(kept("RayCluster"), uid="jobset-train"))
        await house.cycle()
        assert stand_ins(house, "JobSet") == []
        assert not house.api.resumed

    in_house(room, story)


def test_a_train_job_waits_by_the_pods_of_its_job_set() -> None:
    async def story(house: House) -> None:
        house.put(guest())
        put(house, "JobSet", owner("JobSet", above=("TrainJob", "train")))
        put(house, "TrainJob", owner("TrainJob", spec={}), kept("TrainJob"))
        (verdict,) = (await house.cycle()).groups
        assert (verdict.group, verdict.members, verdict.quorum) == (KEY, 4, 4)
        house.gone("guest")
        await house.cycle()
        assert house.api.resumed == [KEY]
        assert house.mirror.overlay.hold("Return", f"TrainJob {KEY}") is not None

    in_house(room, story)


def test_pods_below_any_part_of_the_owner_keep_it_from_coming_back() -> None:
    async def story(house: House) -> None:
        put(house, "JobSet", owner("JobSet"), kept("JobSet"))
        job = made_by("JobSet")[0]
        put(house, "Job", job.objects[0][1])
        house.put(*pods(*job.controller, 0, node="n1"))
        await house.cycle()
        assert stand_ins(house, "JobSet") == []
        assert house.mirror.state.snapshot().bound.terminating.tolist() == [True], "it leaves with the JobSet"
        house.gone(f"{job.controller[1]}-0")
        await house.cycle()
        assert house.api.resumed == [KEY]

    in_house(room, story)


# -- Kueue -------------------------------------------------------------------------------------------------


def workload(kind: str, *, active: bool, admitted: bool = True) -> KueueWorkload:
    meta = {
        "name": "kueue-1",
        "namespace": "default",
        "uid": "workload-kueue-1",
        "ownerReferences": [lower(kind, "train")],
    }
    conditions = [{"type": "Admitted", "status": "True" if admitted else "False"}]
    body = {"metadata": meta, "spec": {"active": active}, "status": {"conditions": conditions}}
    return msgspec.convert(body, KueueWorkload)


OURS = {"workload": "kueue-1", "workload_uid": "workload-kueue-1"}


def test_a_workload_is_active_again_when_its_pods_are_gone_and_its_quota_is_free() -> None:
    async def story(house: House) -> None:
        put(house, "JobSet", owner("JobSet", away=False), kept("JobSet", **OURS))
        house.mirror.put_workload(workload("JobSet", active=False))
        job = made_by("JobSet")[0]
        put(house, "Job", job.objects[0][1])
        house.put(*pods(*job.controller, 0, node="n1"))
        await house.cycle()
        assert house.mirror.state.snapshot().bound.terminating.tolist() == [True], "Kueue stops it"
        assert not house.api.resumed
        house.gone(f"{job.controller[1]}-0")
        await house.cycle()
        assert not house.api.resumed, "Kueue still counts its quota"
        house.mirror.put_workload(workload("JobSet", active=False, admitted=False))
        await house.cycle()
        assert house.api.resumed == ["default/kueue-1"]
        assert house.api.dropped == ["maitred-suspension-jobset-train"]
        assert stand_ins(house, "JobSet") == [], "what it may have is Kueue's to say"

    in_house(room, story)


def test_a_workload_that_others_have_deactivated_stays_as_it_is() -> None:
    async def story(house: House) -> None:
        put(house, "JobSet", owner("JobSet", away=False))
        house.mirror.put_workload(workload("JobSet", active=False, admitted=False))
        await house.cycle()
        assert not house.api.resumed

    in_house(room, story)


def test_an_owner_that_has_become_kueues_is_not_resumed() -> None:
    async def story(house: House) -> None:
        put(house, "JobSet", owner("JobSet"), kept("JobSet"))
        house.mirror.put_workload(workload("JobSet", active=True, admitted=False))
        for _ in range(3):
            await house.cycle()
        assert not house.api.resumed
        assert house.api.dropped == ["maitred-suspension-jobset-train"]
        assert stand_ins(house, "JobSet") == []

    in_house(room, story)


def test_the_record_of_a_workload_that_somebody_has_activated_is_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("maitred.controllers.owners.returns.SETTLE_SECONDS", 0.0)

    async def story(house: House) -> None:
        put(house, "JobSet", owner("JobSet", away=False), kept("JobSet", **OURS))
        house.mirror.put_workload(workload("JobSet", active=True))
        for _ in range(3):
            await house.cycle()
        assert (house.api.resumed, house.api.tidied) == ([], ["default/kueue-1"])
        assert house.api.dropped == ["maitred-suspension-jobset-train"]

    in_house(lambda: House(node("n1", cpu=4)), story)


# -- what is said of it ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["JobSet", "RayJob"])
def test_why_says_that_its_owner_is_suspended(kind: str) -> None:
    async def story(house: House) -> None:
        house.put(guest())
        put(house, kind, owner(kind), kept(kind))
        (verdict,) = (await house.cycle()).groups
        situation = Situation(house.mirror.state.snapshot(), house.policy, NOW, "maitred")
        answer = why(situation, verdict.group)
        assert answer.state == "Suspended"
        by_hand = f"{kind} train is suspended, and not by maitred: resume it with spec.suspend: false"
        assert by_hand in answer.notes, "there is no annotation on it, which the writer would have put there"
        assert any(f"while its {kind} is suspended; it keeps its place" in note for note in answer.notes)

    in_house(room, story)
