"""Queues: each rule broken once in a Plan that is right otherwise."""

from copy import deepcopy
from datetime import datetime
from typing import Any

import pytest

from maitred.verify import verify
from maitred.verify.objects import read_cluster
from maitred.verify.payers import Account, account_of
from maitred.verify.queues import is_model

from .make import (
    Raw,
    bind,
    blocker,
    entry,
    eviction,
    judged,
    namespace,
    node,
    owned,
    plan,
    pod,
    pod_group,
    seating,
    settled,
)

GPU, MODEL, QUEUE, USER = "example.com/gpu", "nvidia.com/gpu.product", "maitred.dev/queue", "maitred.dev/user"


def big(name: str, model: str = "NVIDIA-H100", devices: int = 8) -> Raw:
    return node(name, "96", amounts={GPU: str(devices)}, labels={MODEL: model})


def user_of(name: str, queue: str, devices: int = 8, user: str = "", **more: Any) -> Raw:
    annotations = {USER: user} if user else {}
    labels = {QUEUE: queue} if queue else {}
    return pod(name, "1", amounts={GPU: str(devices)}, labels=labels, annotations=annotations, **more)


def limit(model: str = "*", **amounts: int) -> Raw:
    return {"resource": GPU, "model": model, **amounts}


def queue(name: str, *limits: Raw, **more: Any) -> Raw:
    return {"name": name, "limits": list(limits), **more}


def policy(*queues: Raw, **more: Any) -> Raw:
    return {"queues": list(queues), **more}


# -- who is evicted for whom -------------------------------------------------------------------------------

TEAMS = policy(queue("vision", limit(guarantee=8)), queue("language", limit(guarantee=8)))
FIRST = user_of("first", "language", on="n1", priority=10, startTime="2026-01-31T08:00:00Z")
SECOND = user_of("second", "language", on="n2", priority=10, startTime="2026-01-31T11:00:00Z")
CLAIMANT = user_of("train", "vision", priority=0)
CLUSTER = [big("n1"), big("n2"), FIRST, SECOND, CLAIMANT]
WAITS = entry("train", "Preempting", 1, 1, 0, blocker("Affinity", holds=0, needed=1))


def reclaiming(
    victim: str = "second", to: str = "n2", cause: str = "Reclaim", own: int = 0, **more: Any
) -> Raw:
    receipt = {"priority": 10, "preemptorPriority": own, "rule": "borrowed", **more}
    return settled(
        plan(
            [],
            [WAITS],
            nominations=[bind("train", to)],
            evictions=[eviction(victim, "train", cause, **receipt)],
        )
    )


def said(objects: list[Raw], plan: Raw, **more: Any) -> list[str]:
    return [f"{breach.law}: {breach.message}" for breach in verify(objects, plan, **more)]


def test_what_is_borrowed_is_reclaimed_whatever_the_priorities() -> None:
    assert said(CLUSTER, reclaiming(), policy=TEAMS) == []


def test_without_queues_there_is_nothing_to_reclaim() -> None:
    told = "4: reclaimed for default/train, but the policy has no queues"
    assert said(CLUSTER, reclaiming(), policy={}) == [told]


def test_who_is_entitled_is_not_evicted() -> None:
    """Of two of one priority the one that started first."""
    entitled = "evicted for default/train of queue vision, but queue language is entitled to what it has"
    assert said(CLUSTER, reclaiming("first", "n1"), policy=TEAMS) == [f"4: {entitled}"]


def test_whoever_has_the_higher_priority_is_entitled() -> None:
    objects = deepcopy(CLUSTER)
    objects[3]["spec"]["priority"] = 11
    assert said(objects, reclaiming("first", "n1"), policy=TEAMS) == []
    (told,) = said(objects, reclaiming(priority=11), policy=TEAMS)
    assert "entitled" in told


def test_equals_may_be_taken_in_either_order() -> None:
    objects = deepcopy(CLUSTER)
    objects[2]["status"].pop("startTime")
    objects[3]["status"].pop("startTime")
    assert said(objects, reclaiming("first", "n1"), policy=TEAMS) == []


def test_without_a_least_time_a_start_that_is_still_to_come_protects_nobody() -> None:
    """The clock of a node may be ahead."""
    objects = deepcopy(CLUSTER)
    objects[3]["status"]["startTime"] = "2026-01-31T12:00:30Z"
    now = datetime.fromisoformat("2026-01-31T12:00:00Z")
    assert said(objects, reclaiming(), policy=TEAMS, now=now) == []
    held = policy(queue("vision", limit(guarantee=8)), queue("language", limit(guarantee=8), minRuntime="1m"))
    (told,) = said(objects, reclaiming(), policy=held, now=now)
    assert "before it has run as long" in told


@pytest.mark.parametrize(
    ("word", "right"), [("any", False), ("same", False), ("", False), ("3", True), ("A100", True)]
)
def test_who_says_a_word_of_models_that_there_is_not_is_invalid(word: str, right: bool) -> None:
    wish = user_of("wish", "vision")
    wish["metadata"]["annotations"]["maitred.dev/device-models"] = word
    made = settled(plan([], [entry("wish", "Invalid", 1, 1, 0, blocker("Request"))]))
    found = [one for one in said([big("n1"), wish], made, policy=TEAMS) if "makes it so" in one]
    assert bool(found) != right


def test_who_would_borrow_does_not_reclaim() -> None:
    teams = policy(queue("vision", limit(guarantee=7)), queue("language", limit(guarantee=8)))
    borrows = "reclaimed for default/train, but with it queue vision has more than its guarantee"
    assert said(CLUSTER, reclaiming(), policy=teams) == [f"4: {borrows}"]


def test_what_a_queue_has_already_counts() -> None:
    more = [big("n3"), user_of("other", "vision", 1, on="n3")]
    (told,) = said([*CLUSTER, *more, filler("n3", 7)], reclaiming(), policy=TEAMS)
    assert "more than its guarantee" in told


def filler(on: str, devices: int) -> Raw:
    return user_of(f"filler-{on}", "", devices, on=on, schedulerName="maitred", priority=99)


def test_a_guarantee_on_one_model_is_none_on_others() -> None:
    teams = policy(queue("vision", limit("A100", guarantee=8)), queue("language", limit(guarantee=8)))
    (told,) = said(CLUSTER, reclaiming(), policy=teams)
    assert "more than its guarantee" in told


def test_the_cause_of_an_entitled_group_is_reclaim() -> None:
    objects = deepcopy(CLUSTER)
    objects[4]["spec"]["priority"] = 11
    assert said(objects, reclaiming(own=11), policy=TEAMS) == []
    assert said(objects, reclaiming(own=11, cause="Preemption"), policy=TEAMS) == [
        "4: preempted, but default/train is entitled: it reclaims, whatever the priorities"
    ]


def test_a_borrower_preempts_lower_priorities_that_have_borrowed() -> None:
    objects = deepcopy(CLUSTER)
    objects[4]["spec"]["priority"] = 11
    teams = policy(queue("vision"), queue("language", limit(guarantee=8)))
    assert said(objects, reclaiming(own=11, cause="Preemption"), policy=teams) == []
    (told,) = said(objects, reclaiming("first", "n1", own=11, cause="Preemption"), policy=teams)
    assert "entitled" in told
    objects[4]["spec"]["priority"] = 10
    (told,) = said(objects, reclaiming(own=10, cause="Preemption"), policy=teams)
    assert told == "4: priority 10 yields to default/train of priority 10"


def test_nothing_is_reclaimed_within_a_queue_or_from_none() -> None:
    wrong = "4: reclaimed for default/train, and the two are not in different queues"
    own = [*CLUSTER[:4], user_of("train", "language", priority=0)]
    assert said(own, reclaiming(), policy=TEAMS) == [wrong]
    others = [{**one, "spec": {**one["spec"], "schedulerName": "maitred"}} for one in CLUSTER[4:]]
    assert said([*CLUSTER[:4], *others], reclaiming(), policy=TEAMS, scheduler="maitred") == [wrong]


@pytest.mark.parametrize(("now", "broken"), [("11:29:59", [4]), ("11:30:00", [])])
def test_what_is_borrowed_runs_as_long_as_its_queue_says(now: str, broken: list[int]) -> None:
    teams = policy(
        queue("vision", limit(guarantee=8)), queue("language", limit(guarantee=8), minRuntime="30m")
    )
    time = datetime.fromisoformat(f"2026-01-31T{now}Z")
    hours = (time - datetime.fromisoformat("2026-01-31T11:00:00Z")).total_seconds() / 3600 * 8
    given = settled(reclaiming(workLostDeviceHours=hours), workLostSteps=int(hours * 6))
    assert judged(CLUSTER, given, policy=teams, now=time) == broken


@pytest.mark.parametrize(
    ("rules", "own", "told"),
    [
        ({"preemption": {"mode": "never"}}, {}, "the policy allows no preemption"),
        ({}, {"preemptionPolicy": "Never"}, "whose preemptionPolicy is Never"),
        ({"preemption": {"victims": "own"}}, {"schedulerName": "maitred"}, "belongs to the scheduler"),
    ],
)
def test_what_forbids_preemption_forbids_reclaim(rules: Raw, own: Raw, told: str) -> None:
    objects = [*CLUSTER[:4], user_of("train", "vision", priority=0, **own)]
    (found,) = said(objects, reclaiming(), policy={**TEAMS, **rules})
    assert told in found


def test_an_order_without_priority_forbids_no_reclaim() -> None:
    """It orders those who wait. For priority alone nobody leaves then."""
    order = {"order": ["fair-share", "age"]}
    assert said(CLUSTER, reclaiming(), policy={**TEAMS, **order}) == []
    ranks = [*CLUSTER[:4], user_of("train", "language", priority=20)]
    by_rank = reclaiming(cause="Preemption", own=20)
    assert "4: evicted for default/train, but the policy allows no preemption" in said(
        ranks, by_rank, policy={**policy(queue("language")), **order}
    )


def test_marks_do_not_protect_what_is_borrowed() -> None:
    objects = deepcopy(CLUSTER)
    objects[3]["metadata"]["annotations"] = {"maitred.dev/non-preemptible": "true"}
    assert said(objects, reclaiming(), policy=TEAMS) == []


def test_nothing_is_reclaimed_that_is_not_needed() -> None:
    free = [big("n3")]
    assert 5 in judged([*CLUSTER, *free], reclaiming(), policy=TEAMS)


def test_a_whole_gang_leaves() -> None:
    gang = [pod_group("g", 2), *(user_of(f"g-{n}", "language", 4, on="n2", group="g") for n in range(2))]
    objects = [big("n1"), big("n2"), FIRST, *gang, CLAIMANT]
    given = reclaiming("g-0", priority=0)
    given["evictions"][0]["group"] = "default/g"
    assert any("is evicted as a whole" in one for one in said(objects, given, policy=TEAMS))


# -- levels and shares -------------------------------------------------------------------------------------

TREE = policy(
    queue("top", limit(guarantee=16)),
    queue("vision", limit(guarantee=8), parent="top"),
    queue("language", parent="top"),
    queue("rest"),
)


def test_groups_are_compared_where_their_branches_part() -> None:
    """Within the top queue language has borrowed all it has; from outside it is entitled to it."""
    assert said(CLUSTER, reclaiming(), policy=TREE) == []
    outside = [*CLUSTER[:4], user_of("train", "rest", priority=20)]
    (told,) = said(outside, reclaiming(cause="Preemption", own=20), policy=TREE)
    assert "but queue top is entitled" in told


def test_guarantees_below_are_taken_together() -> None:
    silent = policy(queue("top"), *TREE["queues"][1:])
    silent["queues"][2]["limits"] = [limit(guarantee=8)]
    outside = [*CLUSTER[:4], user_of("train", "rest", priority=20)]
    (told,) = said(outside, reclaiming(cause="Preemption", own=20), policy=silent)
    assert "but queue top is entitled" in told


def shared(weight: float, reclaim: bool = True) -> Raw:
    queues = [queue("vision", weight=weight), queue("language", limit(cap=99))]
    return policy(*queues, fairShare={"reclaim": reclaim})


def test_by_fair_share_the_smaller_one_reclaims() -> None:
    objects = [*CLUSTER[:4], user_of("train", "vision", priority=10)]
    assert said(objects, reclaiming(own=10), policy=shared(1)) == []
    (told,) = said(objects, reclaiming(own=10), policy=shared(1, reclaim=False))
    assert "more than its guarantee" in told
    (told,) = said(CLUSTER, reclaiming(), policy=shared(1))
    assert told.endswith("reclaimed by fair share for default/train of priority 0, and it has 10")
    # With the half of its weight, eight devices are as large a share as the sixteen of the other were.
    (told,) = said(objects, reclaiming(own=10), policy=shared(0.5))
    assert told.endswith("but then vision has no smaller share than language had")


# -- limits ------------------------------------------------------------------------------------------------

NODES = [big("n1"), big("n2", "NVIDIA-A100")]


def seated(queues: Raw, *objects: Raw, **seats: str) -> list[str]:
    return said([*NODES, *objects], seating(seats), policy=queues)


def test_a_cap() -> None:
    capped = policy(queue("a", limit(cap=8)))
    running = user_of("old", "a", 4, on="n1")
    assert seated(capped, running, user_of("new", "a", 4), new="n1") == []
    assert seated(capped, running, user_of("new", "a", 5), new="n2") == [f"14: has 9 {GPU}, its cap is 8"]
    # Others may be bound meanwhile, and what asks for none of it.
    over = [user_of("old", "a", 8, on="n1"), user_of("more", "a", 1, on="n2")]
    assert seated(capped, *over, user_of("new", "b", 4), new="n2") == [
        "14: gets a place, but there is no queue b"
    ]
    assert seated(capped, *over, user_of("new", "a", 0), user_of("free", "", 1), new="n2", free="n2") == []


def test_a_cap_on_a_model() -> None:
    capped = policy(queue("a", limit("A100", cap=4)))
    assert seated(capped, user_of("new", "a", 5), new="n1") == []
    assert seated(capped, user_of("new", "a", 5), new="n2") == [f"14: has 5 {GPU} on A100, its cap is 4"]


def test_the_cap_of_a_queue_above() -> None:
    capped = policy(queue("top", limit(cap=8)), queue("a", parent="top"), queue("b", parent="top"))
    running = user_of("old", "a", 4, on="n1")
    assert seated(capped, running, user_of("new", "b", 5), new="n2") == [f"14: has 9 {GPU}, its cap is 8"]


def test_who_is_leaving_still_counts() -> None:
    capped = policy(queue("a", limit(cap=8)))
    leaving = user_of("old", "a", 4, on="n1", deletionTimestamp="2026-01-31T12:00:00Z")
    assert len(seated(capped, leaving, user_of("new", "a", 5), new="n2")) == 1


def test_what_is_promised_counts_beside_what_stays() -> None:
    capped = policy(
        queue("vision", limit(guarantee=8, cap=8)), queue("language", limit(guarantee=8)), queue("x")
    )
    assert said(CLUSTER, reclaiming(), policy=capped) == []
    more = [big("n3"), user_of("other", "vision", 1, on="n3"), user_of("filler", "x", 7, on="n3")]
    assert f"14: has 9 {GPU}, its cap is 8" in said([*CLUSTER, *more], reclaiming(), policy=capped)


def test_a_limit_per_user() -> None:
    limited = policy(queue("a", limit(perUser=4)))
    old = user_of("old", "a", 3, "ann", on="n1")
    assert seated(limited, old, user_of("new", "a", 4, "bob"), new="n2") == []
    assert seated(limited, old, user_of("new", "a", 2, "ann"), new="n2") == [
        f"14: user ann has 5 {GPU}, perUser is 4"
    ]
    assert seated(limited, user_of("new", "a", 5), new="n2") == [
        f"14: users that are not known have 5 {GPU}, perUser is 4"
    ]


def test_who_never_borrows() -> None:
    proud = policy(queue("a", limit(guarantee=4), borrow="never"))
    assert seated(proud, user_of("new", "a", 4), new="n1") == []
    assert seated(proud, user_of("new", "a", 5), new="n1") == [
        "14: would have more than its guarantee, and borrows never"
    ]


def test_who_never_borrows_may_have_too_much_of_something_else() -> None:
    proud = policy(queue("a", limit("H100", guarantee=0), limit("A100", guarantee=4), borrow="never"))
    running = user_of("old", "a", 2, on="n1")
    assert seated(proud, running, user_of("new", "a", 4), new="n2") == []
    assert len(seated(proud, running, user_of("new", "a", 1), new="n1")) == 1


def test_who_never_lends() -> None:
    mean = policy(queue("a", limit("H100", guarantee=6), lend="never"), queue("b"))
    own = user_of("own", "a", 3, on="n1")
    assert seated(mean, own, user_of("new", "b", 2), new="n1") == []
    assert seated(mean, own, user_of("new", "b", 8), new="n2") == []
    assert seated(mean, own, user_of("new", "b", 3), new="n1") == [
        f"14: lends never and has not used 3 {GPU} on H100 of its guarantee; 2 are left"
    ]
    assert seated(mean, own, user_of("new", "a", 5), new="n1") == []
    entitled = policy(*mean["queues"][:1], queue("b", limit("H100", guarantee=3)))
    assert seated(entitled, own, user_of("new", "b", 3), new="n1") == []


def test_resources_that_no_limit_speaks_of_are_free() -> None:
    other = policy(queue("a", {"resource": "memory", "cap": "1Gi"}, borrow="never"))
    assert seated(other, user_of("new", "a", 8), new="n1") == []


def test_queues_that_groups_cannot_be_in() -> None:
    tree = policy(queue("top"), queue("a", parent="top"))
    assert seated(tree, user_of("new", "top"), new="n1") == ["14: gets a place, but top has queues below it"]
    assert seated(tree, user_of("new", "no"), new="n1") == ["14: gets a place, but there is no queue no"]
    controlled = owned("Job", "j")
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "default", "uid": "uid-j", "annotations": {QUEUE: "default"}},
        "spec": {},
    }
    assert seated(tree, job, user_of("new", "a", ownerReferences=controlled), new="n1") == [
        "14: gets a place, but different queues are named for it"
    ]


@pytest.mark.parametrize(
    ("queues", "users", "divided"),
    [
        (("a", "a"), ("", ""), False),
        (("a", "b"), ("", ""), True),
        (("a", ""), ("", ""), True),
        (("", "default"), ("", ""), True),
        (("a", "a"), ("eve", "bob"), True),
    ],
)
def test_a_group_is_of_one_queue_and_one_user(
    queues: tuple[str, str], users: tuple[str, str], divided: bool
) -> None:
    rules = policy(queue("a"), queue("b"), queue("default"))
    members = [
        user_of(f"g-{n}", queues[n], 1, users[n], group="g", created="2026-01-31T09:00:00Z") for n in (0, 1)
    ]
    objects = [big("n1"), pod_group("g", 2), *members]
    makes = plan([bind("g-0", "n1", "g"), bind("g-1", "n1", "g")], [entry("g", "Scheduled", 2, 2, 2)])
    assert (14 in judged(objects, makes, policy=rules)) == divided
    refuses = plan([], [entry("g", "Invalid", 2, 2, 0, blocker("Request"))])
    assert (judged(objects, refuses, policy=rules) == []) == divided


def test_the_devices_of_a_gang_are_of_one_model() -> None:
    queues = policy(queue("a", limit(cap=99)))
    pods = [
        pod(
            f"g-{n}", "1", amounts={GPU: "8"}, labels={"maitred.dev/group": "g", "maitred.dev/min-count": "2"}
        )
        for n in range(2)
    ]
    given = plan(
        [bind("g-0", "n1", "g"), bind("g-1", "n2", "g")],
        [entry("g", "Scheduled", 2, 2, 2)],
    )
    devices = {"devices": {"resources": [GPU]}}
    mixed = "3: its devices are of several models: NVIDIA-A100, NVIDIA-H100"
    assert said([*NODES, *pods], given, policy={**queues, **devices}) == [mixed]
    assert said([*NODES, *pods], given, policy=devices) == []
    for one in pods:
        one["metadata"]["annotations"] = {"maitred.dev/device-models": "any"}
    assert said([*NODES, *pods], given, policy={**queues, **devices}) == []


# -- who pays ----------------------------------------------------------------------------------------------


def paid(*objects: Raw, of: str = "p", **more: Any) -> Account:
    cluster = read_cluster([pod("p", **more), *objects])
    return account_of(cluster.pods["default/p"], f"default/{of}", cluster)


def job(**meta: Any) -> Raw:
    about = {"name": "j", "namespace": "default", "uid": "uid-j", **meta}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": about, "spec": {}}


BY_JOB = [{**owned("Job", "j")[0], "apiVersion": "batch/v1"}]
BY_CRON = [{**owned("CronJob", "c")[0], "apiVersion": "batch/v1"}]
NIGHTLY = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "c", "namespace": "default", "uid": "uid-c", "annotations": {USER: "ann"}},
}
VOLCANO = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "v", "namespace": "default"},
    "spec": {"minMember": 1, "queue": "q"},
}


@pytest.mark.parametrize(
    ("objects", "more", "expected"),
    [
        ([], {}, Account("default")),
        ([], {"labels": {QUEUE: "q"}}, Account("q")),
        ([], {"annotations": {QUEUE: "q"}}, Account("q")),
        ([], {"labels": {QUEUE: "q"}, "annotations": {QUEUE: "other"}}, Account("q")),
        ([pod_group("g", 1, annotations={QUEUE: "q"})], {"group": "g"}, Account("q")),
        ([job(labels={QUEUE: "q"})], {"ownerReferences": BY_JOB}, Account("q")),
        (
            [job(labels={QUEUE: "far"})],
            {"ownerReferences": BY_JOB, "labels": {QUEUE: "near"}},
            Account("near", contradictory=True),
        ),
        ([namespace("default", **{QUEUE: "q"})], {}, Account("q")),
        ([namespace("default", **{QUEUE: "far"})], {"labels": {QUEUE: "near"}}, Account("near")),
        ([], {"labels": {"kueue.x-k8s.io/queue-name": "q"}}, Account("q")),
        ([], {"labels": {"kai.scheduler/queue": "k", QUEUE: "q"}}, Account("q")),
        ([], {"annotations": {USER: "ann"}}, Account("default", "ann")),
        ([], {"labels": {USER: "ann"}}, Account("default")),
        ([job(annotations={USER: "ann"})], {"ownerReferences": BY_JOB}, Account("default", "ann")),
        ([], {"ownerReferences": BY_JOB, "annotations": {USER: "eve"}}, Account("default")),
        (
            [job(annotations={USER: "ann"})],
            {"ownerReferences": BY_JOB, "annotations": {USER: "eve"}},
            Account("default", "ann"),
        ),
        (
            [job(annotations={USER: "ann"}, ownerReferences=owned("Workflow", "c"))],
            {"ownerReferences": BY_JOB},
            Account("default"),
        ),
        ([NIGHTLY, job(ownerReferences=BY_CRON)], {"ownerReferences": BY_JOB}, Account("default", "ann")),
        (
            [NIGHTLY, job(annotations={USER: "bob"}, ownerReferences=BY_CRON)],
            {"ownerReferences": BY_JOB},
            Account("default", "bob"),
        ),
        ([job(ownerReferences=BY_CRON)], {"ownerReferences": BY_JOB}, Account("default")),
        (
            [NIGHTLY, job(ownerReferences=[{**BY_CRON[0], "uid": "another"}])],
            {"ownerReferences": BY_JOB},
            Account("default"),
        ),
    ],
)
def test_who_pays(objects: list[Raw], more: Raw, expected: Account) -> None:
    assert paid(*objects, **more) == expected


def test_the_group_of_another_scheduler_names_a_queue() -> None:
    assert paid(VOLCANO, of="v") == Account("q")


@pytest.mark.parametrize(
    ("pattern", "model", "right"),
    [
        ("*", "", True),
        ("H100", "NVIDIA-H100-80GB-HBM3", True),
        ("h100_80gb", "nvidia.h100.80GB", True),
        ("L4", "NVIDIA-L40S", False),
        ("H100", "", False),
        ("H*0", "NVIDIA-H200", True),
    ],
)
def test_patterns_of_models(pattern: str, model: str, right: bool) -> None:
    assert is_model(pattern, model) is right
