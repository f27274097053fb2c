"""On whose account pods run: which of the places counts where that is said, and what is in conflict."""

from typing import Any, TypeVar

import pytest

from maitred.model.kinds import row_of
from maitred.model.membership import Settled, said_by, settle
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.pod import Pod
from maitred.model.policy import Workloads
from maitred.model.queues import DEVICE_MODELS, QUEUE, USER, Payer, named_queue
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import read

T = TypeVar("T", bound=Object)
VOLCANO, KAI, KUEUE = (
    "scheduling.volcano.sh/queue-name",
    "kai.scheduler/queue",
    "kueue.x-k8s.io/queue-name",
)


class Known:
    def __init__(self, objects: list[Object]) -> None:
        self._objects = {(row_of(type(one)).type, key_of(one.metadata)): one for one in objects}

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        found = self._objects.get((kind, key))
        return found if isinstance(found, kind) and uid in ("", found.metadata.uid) else None


def settled(pod: Obj, *objects: Obj) -> Settled:
    [item] = read([pod])
    assert isinstance(item, Pod)
    return settle(said_by(item), Known(read(list(objects))), Workloads())


def paid(pod: Obj, *objects: Obj) -> tuple[str, str, str]:
    found = settled(pod, *objects).payer or Payer("default")
    assert found.namespace == "default"
    return found.queue, found.user, found.problem


def pod(owner: str | None = None, group: str | None = None, **said: str) -> Obj:
    made = b.pod("p", owner=owner, annotations=marks(said))
    if group is not None:
        made["spec"]["schedulingGroup"] = {"podGroupName": group}
    return made


def marks(said: dict[str, str]) -> dict[str, str]:
    keys = {"queue": QUEUE, "user": USER, "volcano": VOLCANO, "kai": KAI, "kueue": KUEUE}
    return {keys[key]: value for key, value in said.items()}


def job(owner: str | None = None, **said: str) -> Obj:
    return b.owner_object("batch/v1", "Job", "j", "default", {}, owner=owner, annotations=marks(said))


def cron_job(**said: str) -> Obj:
    return b.owner_object("batch/v1", "CronJob", "c", "default", {}, annotations=marks(said))


def job_set(owner: str | None = None, **said: str) -> Obj:
    version = "jobset.x-k8s.io/v1alpha2"
    return b.owner_object(version, "JobSet", "s", "default", {}, owner=owner, annotations=marks(said))


def pod_group(spec: Obj | None = None, **said: str) -> Obj:
    return b.pod_group("g", 1, annotations=marks(said), spec=spec)


def of_volcano(queue: str) -> Obj:
    spec = {"minMember": 1, "queue": queue}
    about = {"name": "v", "namespace": "default"}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": about,
        "spec": spec,
    }


OWNED, GROUPED = pod("Job/j"), pod(group="g")
IN_VOLCANO = {**pod(), "metadata": b.metadata("p", annotations={"scheduling.k8s.io/group-name": "v"})}
OUTER: Obj = {**b.composite("c", 1), "metadata": b.metadata("c", annotations={QUEUE: "a"})}
QUEUES: dict[str, tuple[Obj, list[Obj], str]] = {
    "nobody says anything": (OWNED, [job(), job_set()], ""),
    "the pod": (pod(queue="a"), [], "a"),
    "its PodGroup": (GROUPED, [pod_group(queue="a")], "a"),
    "the composite above that": (
        GROUPED,
        [pod_group(b.below("inner")), b.composite("inner", 1, parent="c"), OUTER],
        "a",
    ),
    "its Job": (OWNED, [job(queue="a")], "a"),
    "the JobSet above that": (OWNED, [job("JobSet/s"), job_set(queue="a")], "a"),
    "an owner in words of Kueue": (OWNED, [job("JobSet/s"), job_set(kueue="a")], "a"),
    "its own mark before those of others": (pod("Job/j", kai="b"), [job(queue="a")], "a"),
    "of others, the nearest": (pod("Job/j", kai="a"), [job(kueue="b")], "a"),
    "of others on one object, the first in the table": (pod(kueue="b", volcano="a"), [], "a"),
    "the spec of a PodGroup of Volcano": (IN_VOLCANO, [of_volcano("a")], "a"),
    "what is empty says nothing": (pod("Job/j", queue=""), [job(queue="a")], "a"),
    "two places that agree": (pod("Job/j", queue="a"), [job(queue="a")], "a"),
}


@pytest.mark.parametrize("case", QUEUES)
def test_the_queue_is_what_is_said_nearest_to_the_pod(case: str) -> None:
    found, objects, queue = QUEUES[case]
    assert paid(found, *objects) == (queue, "", "")


def test_composites_in_a_circle_end() -> None:
    circle = [b.composite("c", 1, parent="d"), b.composite("d", 1, parent="c")]
    assert paid(GROUPED, pod_group(b.below("c")), *circle) == ("", "", "")


def test_a_pod_that_names_no_queue_is_in_that_of_its_namespace() -> None:
    labels = {"default": {QUEUE: "theirs"}}
    assert [named_queue(Payer("default", queue), labels) for queue in ("", "a")] == ["theirs", "a"]
    assert named_queue(Payer("other"), labels) == "default"


TORN = b.pod("p", labels={QUEUE: "a"}, annotations={QUEUE: "b"})
BOTH = f"label {QUEUE} is a on the pod and annotation {QUEUE} is b on the pod; remove one of the two"
FAR = f"annotation {QUEUE} is a on the pod and annotation {QUEUE} is b on its"
CONFLICTS: dict[str, tuple[Obj, list[Obj], str]] = {
    "label and annotation": (TORN, [], BOTH),
    "pod and PodGroup": (
        pod(group="g", queue="a"),
        [pod_group(queue="b")],
        f"{FAR} PodGroup g; remove one of the two",
    ),
    "pod and Job": (pod("Job/j", queue="a"), [job(queue="b")], f"{FAR} Job; remove one of the two"),
    "pod and JobSet": (
        pod("Job/j", queue="a"),
        [job("JobSet/s", queue="a"), job_set(queue="b")],
        f"{FAR} JobSet; remove one of the two",
    ),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_two_places_that_differ_are_a_problem(case: str) -> None:
    found, objects, problem = CONFLICTS[case]
    assert paid(found, *objects) == ("a", "", problem)


IN_SET = b.pod(
    "p",
    annotations={USER: "p"},
    labels={
        f"leaderworkerset.sigs.k8s.io/{key}": value for key, value in (("name", "w"), ("group-index", "0"))
    },
)
WORKER_SET = b.owner_object(
    "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "w", "default", {}, annotations={USER: "w"}
)
BOGUS: Obj = {"apiVersion": "v1", "kind": "Thing", "name": "x" * 300, "uid": "u", "controller": True}
USERS: dict[str, tuple[Obj, list[Obj], str]] = {
    "a pod without an owner": (pod(user="p"), [], "p"),
    "by a label nobody is named": (b.pod("p", labels={USER: "p"}), [], ""),
    "the top owner": (OWNED, [job("JobSet/s"), job_set(user="s")], "s"),
    "never those below it": (pod("Job/j", user="p"), [job("JobSet/s", user="j"), job_set()], ""),
    "nobody while the top owner is not known": (pod("Job/j", user="p"), [job("JobSet/s", user="j")], ""),
    "who made the CronJob": (OWNED, [job("CronJob/c"), cron_job(user="c")], "c"),
    "who made a Job from it by hand": (OWNED, [job("CronJob/c", user="j"), cron_job(user="c")], "j"),
    "nobody while the CronJob is not known": (pod("Job/j", user="p"), [job("CronJob/c")], ""),
    "nobody while no owner is known": (pod("Job/j", user="p"), [], ""),
    "nobody below an owner of a kind that is not read": (
        pod("Job/j", user="p"),
        [job("AppWrapper/a", user="j")],
        "",
    ),
    "nor of a Deployment": (pod("ReplicaSet/r", user="p"), [], ""),
    "a bare pod with the labels of somebody's set": (IN_SET, [WORKER_SET], "p"),
    "a pod with an owner that cannot be": (
        {**pod(), "metadata": {**pod(user="p")["metadata"], "ownerReferences": [BOGUS]}},
        [],
        "",
    ),
    "what is too long is cut": (pod(user="x" * 2000), [], f"{'x' * 64}... (2000 characters)"),
}


@pytest.mark.parametrize("case", USERS)
def test_the_user_is_who_made_the_top_owner(case: str) -> None:
    found, objects, user = USERS[case]
    assert paid(found, *objects) == ("", user, "")


def test_what_others_write_below_an_owner_does_not_tell_pods_apart() -> None:
    assert said_by_of(pod("Job/j", user="a")) == said_by_of(pod("Job/j", user="b"))


def said_by_of(raw: Obj) -> Any:
    [item] = read([raw])
    assert isinstance(item, Pod)
    return said_by(item)


def test_models_of_devices_are_said_in_the_same_places() -> None:
    on_job = b.owner_object("batch/v1", "Job", "j", "default", {}, annotations={DEVICE_MODELS: "any"})
    assert settled(OWNED, on_job).models == ("any", "")
    own = b.pod("p", owner="Job/j", annotations={DEVICE_MODELS: "same"})
    assert settled(own, on_job).models.problem == (
        f"annotation {DEVICE_MODELS} is same on the pod and annotation {DEVICE_MODELS} is any on its Job; "
        "remove one of the two"
    )
    wrong = b.pod("p", annotations={DEVICE_MODELS: "H100"})
    assert settled(wrong).models.problem == f"{DEVICE_MODELS} is 'H100', and must be any or same"
