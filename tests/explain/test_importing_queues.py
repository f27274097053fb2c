"""Queues of Kueue, Volcano and KAI as a policy: numbers of published examples, and what has no equivalent."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from maitred.cli import cli
from maitred.explain.importing.queues.importing import ImportedQueues, import_queues
from maitred.model.manifest import InputError, documents
from maitred.model.manifest.settings import read_live_policy
from maitred.model.policy import Policy
from maitred.verify import verify
from tests.oracle.builders import Obj, namespace, node, pod
from tests.oracle.effort import examples
from tests.support import NOON, decide, listed

EXAMPLES = sorted((Path(__file__).parents[2] / "examples/import-queues").glob("*.yaml"))
GPU = "nvidia.com/gpu"


def imported(*objects: Obj) -> ImportedQueues:
    """The policy is one that can be in force."""
    found = import_queues([*documents(listed([*objects]), "f")], Policy())
    read_live_policy(yaml.safe_dump(found.policy).encode(), "made")
    return found


def queues(*objects: Obj) -> dict[str, Obj]:
    return {one["name"]: one for one in imported(*objects).policy["queues"]}


# -- Kueue -------------------------------------------------------------------------------------------------


def kueue(kind: str, name: str, space: str = "", version: str = "v1beta2", **spec: Any) -> Obj:
    metadata = {"name": name, **({"namespace": space} if space else {})}
    return {"apiVersion": f"kueue.x-k8s.io/{version}", "kind": kind, "metadata": metadata, "spec": spec}


def quotas(flavor: str = "default-flavor", **amounts: Any) -> Obj:
    resources = [
        {"name": name, **(said if isinstance(said, dict) else {"nominalQuota": said})}
        for name, said in amounts.items()
    ]
    return {"coveredResources": [*amounts], "flavors": [{"name": flavor, "resources": resources}]}


FLAVOR = kueue("ResourceFlavor", "default-flavor")
EVERYBODY: Obj = {"namespaceSelector": {}}
WHOLE: Obj = {"whole-gpus": 4}
RECLAIMS: Obj = {"preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}}


def team_ab(**of_a: Any) -> list[Obj]:
    """Of Kueue's documentation on borrowing: two teams in a cohort, with 9 and 12 CPUs."""
    a, b = ({"nominalQuota": 9, **of_a}, {"nominalQuota": 12})
    return [
        FLAVOR,
        *(
            kueue(
                "ClusterQueue",
                f"{name}-cq",
                cohortName="team-ab",
                resourceGroups=[quotas(cpu=cpu, memory=memory)],
                **EVERYBODY,
                **RECLAIMS,
            )
            for name, cpu, memory in (("team-a", a, "36Gi"), ("team-b", b, "48Gi"))
        ),
        *(kueue("LocalQueue", name, "default", clusterQueue=f"{name}-cq") for name in ("team-a", "team-b")),
    ]


def waiting(name: str, queue: str, **more: Any) -> Obj:
    return pod(name, "1", "4Gi", labels={"kueue.x-k8s.io/queue-name": queue}, **more)


def scheduled(objects: list[Obj], policy: Obj) -> list[str]:
    plan = decide(objects, policy, NOON)
    assert verify(objects, plan, policy) == []
    return sorted(one["pod"].partition("/")[2] for one in plan["binds"])


@pytest.mark.parametrize(
    ("limit", "most"), [({}, 21), ({"borrowingLimit": 1}, 10), ({"borrowingLimit": 0}, 9)]
)
def test_kueue_a_team_borrows_what_the_other_leaves_up_to_its_limit(limit: Obj, most: int) -> None:
    """12 + 9 = 21 CPUs, or 9 + 1 with a limit; there are 30, and the cohort has no more than its own."""
    policy = imported(*team_ab(**limit)).policy
    objects = [
        namespace("default"),
        node("n1", "30", "200Gi"),
        *(waiting(f"a{n}", "team-a") for n in range(23)),
    ]
    assert len(scheduled(objects, policy)) == most


def test_kueue_what_was_borrowed_is_taken_back() -> None:
    policy = imported(*team_ab()).policy
    running = [
        waiting(f"a{n}", "team-a", node="n1", created=n, priority=9)
        | {"status": {"phase": "Running", "startTime": f"2026-01-30T08:00:{n:02}Z"}}
        for n in range(21)
    ]
    objects = [namespace("default"), node("n1", "21", "84Gi"), *running]
    plan = decide([*objects, waiting("b0", "team-b")], policy, NOON)
    assert [one["cause"] for one in plan["evictions"]] == ["Reclaim"]
    assert verify([*objects, waiting("b0", "team-b")], plan, policy) == []


def test_kueue_flavors_with_a_model_are_models_and_others_count_together() -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100", "pool": "spot"}
    two = quotas("h100", **{GPU: {"nominalQuota": 8, "borrowingLimit": 2}})
    two["flavors"] += quotas("other", **{GPU: 4})["flavors"]
    found = imported(
        kueue("ResourceFlavor", "h100", nodeLabels=labels),
        kueue("ResourceFlavor", "other"),
        kueue("ClusterQueue", "a", cohort="all", resourceGroups=[two], **EVERYBODY, **RECLAIMS),
    )
    (queue,) = (one for one in found.policy["queues"] if one["name"] == "a")
    assert queue["limits"] == [
        {"resource": GPU, "model": "NVIDIA-H100", "guarantee": 8, "cap": 10},
        {"resource": GPU, "guarantee": 12},
    ]
    assert any("nodeLabels (pool)" in note for note in found.notes)


def test_kueue_without_a_cohort_nothing_is_borrowed_and_of_a_cohort_only_within() -> None:
    found = queues(
        FLAVOR,
        kueue("ClusterQueue", "alone", resourceGroups=[quotas(cpu=1)], **EVERYBODY),
        kueue("Cohort", "top", resourceGroups=[quotas(cpu=5)]),
        kueue("Cohort", "below", parentName="top"),
        kueue("ClusterQueue", "member", cohortName="below", resourceGroups=[quotas(cpu=2)], **EVERYBODY),
    )
    assert {name for name, one in found.items() if one.get("borrow") == "never"} == {"alone", "top"}
    assert [found[name].get("parent") for name in ("top", "below", "member")] == [None, "top", "below"]


def test_kueue_the_quota_of_a_cohort_comes_on_top_of_that_of_its_members() -> None:
    found = queues(
        FLAVOR,
        kueue("Cohort", "top", resourceGroups=[quotas(cpu=5)]),
        kueue("ClusterQueue", "member", cohortName="top", resourceGroups=[quotas(cpu=2)], **EVERYBODY),
    )
    assert found["top"]["limits"] == [{"resource": "cpu", "guarantee": 7}]


def test_kueue_a_cohort_below_another_borrows_up_to_its_limit() -> None:
    quota = quotas(cpu={"nominalQuota": 0, "borrowingLimit": 3})
    found = queues(
        FLAVOR,
        kueue("Cohort", "top", resourceGroups=[quotas(cpu=10)]),
        kueue("Cohort", "below", parentName="top", resourceGroups=[quota]),
        kueue("ClusterQueue", "member", cohortName="below", resourceGroups=[quotas(cpu=2)], **EVERYBODY),
    )
    assert found["top"]["limits"] == [{"resource": "cpu", "guarantee": 12}]
    assert found["below"]["limits"] == [{"resource": "cpu", "guarantee": 2, "cap": 5}]


def test_kueue_who_may_use_a_queue() -> None:
    found = queues(
        FLAVOR,
        kueue("ClusterQueue", "nobody", resourceGroups=[quotas(cpu=1)]),
        kueue("ClusterQueue", "some", namespaceSelector={"matchLabels": {"team": "a"}}),
        kueue("LocalQueue", "mine", "space", clusterQueue="some"),
    )
    assert found["nobody"]["namespaces"]["matchExpressions"][0]["operator"] == "DoesNotExist"
    assert found["some"]["namespaces"] == {"matchLabels": {"team": "a"}}
    assert found["mine"]["parent"] == "some"
    assert found["mine"]["namespaces"]["matchExpressions"][0]["values"] == ["space"]


def test_kueue_local_queues_of_one_name_in_several_cluster_queues_are_told() -> None:
    found = imported(
        FLAVOR,
        *(kueue("ClusterQueue", name, **EVERYBODY) for name in ("a", "b")),
        *(kueue("LocalQueue", "user-queue", f"space-{name}", clusterQueue=name) for name in ("a", "b")),
    )
    assert {one["name"] for one in found.policy["queues"]} == {"a", "b", "user-queue-a", "user-queue-b"}
    assert any(
        "in space-a write maitred.dev/queue: user-queue-a on workloads" in note for note in found.notes
    )


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"queueingStrategy": "StrictFIFO"}, "StrictFIFO"),
        ({"stopPolicy": "Hold"}, "it is stopped"),
        ({"admissionChecks": ["check"]}, "admission checks have no equivalent"),
        ({"preemption": {"withinClusterQueue": "Never"}}, "withinClusterQueue: Never"),
        ({"resourceGroups": [quotas(**WHOLE)]}, "whole-gpus is no resource"),
        ({"resourceGroups": [quotas(cpu={"nominalQuota": 4, "lendingLimit": 1})]}, "lendingLimit"),
        ({"flavorFungibility": {"whenCanBorrow": "TryNextFlavor"}}, "flavorFungibility"),
    ],
)
def test_kueue_what_has_no_equivalent_is_told(spec: Obj, words: str) -> None:
    found = imported(FLAVOR, kueue("ClusterQueue", "a", **{**EVERYBODY, **spec}))
    assert any(note.startswith("ClusterQueue a: ") and words in note for note in found.notes)


# -- KAI ---------------------------------------------------------------------------------------------------


def kai(
    name: str, parent: str = "", quota: float = 0, limit: float = -1, weight: float = 1, **more: Any
) -> Obj:
    gpu = {"quota": quota, "limit": limit, "overQuotaWeight": weight}
    spec = {"parentQueue": parent, "resources": {"gpu": gpu, **more.pop("resources", {})}, **more}
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def test_kai_what_is_over_quota_is_reclaimed_whatever_the_priority() -> None:
    """12 GPUs and a quota of 8 for each: A runs three tasks of 4, and B wants 4."""
    policy = imported(kai("a", quota=8), kai("b", quota=8)).policy
    running = [
        pod(f"a{n}", gpu=4, node="n1", labels={"kai.scheduler/queue": "a"}, priority=90)
        | {"status": {"phase": "Running", "startTime": f"2026-01-30T08:00:0{n}Z"}}
        for n in range(3)
    ]
    wants = pod("b1", gpu=4, labels={"kai.scheduler/queue": "b"}, priority=80)
    objects = [namespace("default"), node("n1", gpu=12), *running, wants]
    plan = decide(objects, policy, NOON)
    assert [(one["pod"], one["cause"]) for one in plan["evictions"]] == [("default/a2", "Reclaim")]
    assert verify(objects, plan, policy) == []


def test_kai_units_weights_and_what_is_not_spoken_of() -> None:
    found = queues(
        kai(
            "a",
            quota=2,
            limit=4,
            weight=3,
            reclaimMinRuntime="15m0s",
            resources={
                "cpu": {"quota": 1500, "limit": -1, "overQuotaWeight": 3},
                "memory": {"quota": 0, "limit": -1, "overQuotaWeight": 3},
            },
        )
    )
    limits = [{"resource": GPU, "guarantee": 2, "cap": 4}, {"resource": "cpu", "guarantee": "1500m"}]
    assert found["a"] == {"name": "a", "weight": 3.0, "limits": limits, "minRuntime": "15m0s"}


def test_kai_quotas_below_a_smaller_one_raise_it_and_that_is_told() -> None:
    """kai#1934: users with a quota of 2 each below a queue without one."""
    found = imported(
        kai("priority", quota=8),
        kai("shared", quota=1),
        *(kai(name, "shared", quota=2) for name in ("alice", "bob")),
    )
    limits = {one["name"]: one["limits"][0]["guarantee"] for one in found.policy["queues"]}
    assert limits == {"priority": 8, "shared": 4, "alice": 2, "bob": 2}
    assert [note for note in found.notes if note.startswith("Queue shared: 4 ")]


def test_kai_quotas_beyond_the_limit_above_are_lowered() -> None:
    found = queues(kai("top", quota=4, limit=4), kai("a", "top", quota=3), kai("b", "top", quota=3, limit=9))
    limits = {name: one["limits"][0] for name, one in found.items()}
    assert [limits[name].get("guarantee") for name in ("top", "a", "b")] == [4, 3, 1]
    assert limits["b"]["cap"] == 4


# -- Volcano -----------------------------------------------------------------------------------------------


def volcano(name: str, **spec: Any) -> Obj:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def test_volcano_deserved_is_guaranteed_and_what_is_reserved_is_not_lent() -> None:
    found = queues(
        volcano("root"),
        volcano("a", parent="root", weight=2, deserved={GPU: "8"}, capability={GPU: "16", "cpu": "64"}),
        volcano("b", parent="a", guarantee={"resource": {GPU: "4"}}),
    )
    assert found["a"] == {
        "name": "a",
        "weight": 2.0,
        "limits": [{"resource": GPU, "guarantee": 8, "cap": 16}, {"resource": "cpu", "cap": 64}],
    }
    assert found["b"] == {
        "name": "b",
        "parent": "a",
        "limits": [{"resource": GPU, "guarantee": 4}],
        "lend": "never",
    }


def test_volcano_where_only_weights_say_what_is_deserved_shares_are_taken_back() -> None:
    policy = imported(volcano("a", weight=1), volcano("b", weight=3, reclaimable=False)).policy
    assert policy["fairShare"] == {"reclaim": True}
    assert [one.get("weight", 1) for one in policy["queues"]] == [1, 3.0]


# -- whatever there is -------------------------------------------------------------------------------------

SIZES = st.none() | st.integers(-1, 12)


@given(st.lists(st.tuples(st.integers(-1, 5), SIZES, SIZES), min_size=1, max_size=6))
@examples(60)
def test_whatever_queues_there_are_the_policy_holds_together(
    tree: list[tuple[int, int | None, int | None]],
) -> None:
    """Parents are earlier queues, so that it is a tree."""
    made = [
        kai(f"q{n}", f"q{above}" if -1 < above < n else "", quota or 0, -1 if limit is None else limit)
        for n, (above, quota, limit) in enumerate(tree)
    ]
    assert len(imported(*made).policy["queues"]) == len(tree)


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ([], "there are no ClusterQueues"),
        ([kai("a", "b"), kai("b", "a")], "goes round in a circle"),
        ([kai("a", "gone")], "there is no queue 'gone'"),
        ([kai("a"), volcano("a")], "would be one queue"),
        ([kai("a", quota=1e40)], "is no amount"),
        ([kai("a", reclaimMinRuntime="soon")], "spec.reclaimMinRuntime: 'soon' is not"),
        ([volcano("a", deserved={"cpu": "many"})], "'many' is not a quantity"),
        ([volcano("a", deserved={"cpu": "-1"})], "is negative"),
        ([volcano("a", weight="heavy")], "spec.weight: expected a whole number"),
    ],
)
def test_what_cannot_be_a_policy_is_refused(objects: list[Obj], words: str) -> None:
    with pytest.raises(InputError, match=words):
        imported(*objects)


# -- the command -------------------------------------------------------------------------------------------


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(cli, [*arguments], input=given)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_is_printed_passes_the_check(path: Path) -> None:
    made = run("import", "--queues", "-f", str(path))
    assert made.exit_code == 0
    assert run("policy", "check", "-", given=made.stdout).exit_code == 0
    assert run("import", "--queues", "-f", str(path), "-o", "json").exit_code == 0


def test_one_thing_is_asked_for() -> None:
    path = str(EXAMPLES[0])
    assert run("import", "-f", path).exit_code == 2
    assert run("import", "--check", "--queues", "-f", path).exit_code == 2
    assert run("import", "--queues", "-o", "table", "-f", path).exit_code == 2
