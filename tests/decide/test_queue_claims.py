"""Devices that pods have by claims count for limits of queues; each Plan is checked by verify's own count."""

from collections.abc import Sequence
from typing import Any

import pytest

from maitred.cluster.queues.book import in_queues
from maitred.verify import verify
from tests.decide.test_overrides import kept, lifted
from tests.oracle.builders import Obj, gang, namespace, node, pod
from tests.oracle.device_builders import (
    claim_spec,
    claim_template,
    consumer,
    device,
    device_class,
    exactly,
    first_available,
    resource_claim,
    resource_slice,
    use,
    wish,
)
from tests.support import NOON, decide, policy_of, snapshot_of

GPU, CLASS, DRIVER = "example.com/gpu", "gpu.example.com", "gpu.example.com"
OF_CLASS = f"deviceclass.resource.kubernetes.io/{CLASS}"
MODEL = "nvidia.com/gpu.product"


def accelerators(name: str, count: int = 4, model: str = "H100", label: str = "") -> list[Obj]:
    """A node with devices in a slice; the label says the model, or else the driver."""
    devices = [device(f"d{n}", {"productName": model} if model else None) for n in range(count)]
    labels = {MODEL: label} if label else {}
    return [node(name, labels=labels), resource_slice(f"{name}-{DRIVER}", DRIVER, devices, node=name)]


def template(name: str, *requests: Obj) -> Obj:
    return claim_template(name, claim_spec(*requests))


def claiming(name: str, queue: str, uses: Sequence[Obj], at: str = "", start: str = "", **more: Any) -> Obj:
    made = pod(name, annotations={"maitred.dev/queue": queue, **more.pop("annotations", {})}, **more)
    made["spec"]["resourceClaims"] = list(uses)
    if at:
        made["spec"]["nodeName"] = at
        made["status"] = {"phase": "Running", "startTime": start or "2026-01-31T08:00:00Z"}
        made["status"]["resourceClaimStatuses"] = [
            {"name": one["name"], "resourceClaimName": f"{name}-{one['name']}"}
            for one in uses
            if "resourceClaimTemplateName" in one
        ]
    return made


def held(name: str, spec: Obj, at: str, devices: Sequence[str], users: Sequence[Obj], **more: Any) -> Obj:
    """A claim with devices of a node, for its first request."""
    (request, *_) = spec["devices"]["requests"]
    results = [
        {"request": more.get("request", request["name"]), "driver": DRIVER, "pool": at, "device": one}
        | ({"adminAccess": True} if more.get("admin") else {})
        for one in devices
    ]
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [at]}]}
    allocation = {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [here]}}
    return resource_claim(name, spec, allocation, [consumer(one) for one in users])


def policy(*queues: Obj) -> Obj:
    return {"apiVersion": "maitred.dev/v1alpha1", "kind": "Policy", "queues": list(queues)}


def queue(name: str, resource: str = GPU, **amounts: Any) -> Obj:
    return {"name": name, "limits": [{"resource": resource, **amounts}]}


BASE = [namespace("default"), device_class(CLASS, f'device.driver == "{DRIVER}"', resource=GPU)]
ONE = template("one", exactly("gpu", wish(CLASS)))
OWN = [use("gpu", template="one")]


def decided(objects: list[Obj], rules: Obj) -> dict[str, str]:
    """The verdict of each group; the Plan breaks no law."""
    plan = decide(objects, rules, NOON)
    assert verify(objects, plan, rules) == []
    return {one["group"].partition("/")[2]: one["verdict"] for one in plan["groups"]}


def used(objects: list[Obj], rules: Obj) -> dict[str, dict[str, int]]:
    """What queues have, by resource and model."""
    book = in_queues(snapshot_of(objects, rules), policy_of(rules), None).book
    assert book is not None
    found: dict[str, dict[str, int]] = {}
    for place, one in enumerate(book.tree.queues):
        row = book.used_at_first[book.row(place)].reshape(len(book.tree.resources), len(book.models))
        counts = {
            f"{resource} {model}".strip(): int(row[r, m])
            for r, resource in enumerate(book.tree.resources)
            for m, model in enumerate(book.models)
            if row[r, m]
        }
        if counts:
            found[one.name] = counts
    return found


@pytest.mark.parametrize("resource", [GPU, OF_CLASS])
def test_a_cap_holds_for_claims_by_the_name_of_the_resource_or_of_the_class(resource: str) -> None:
    objects = [*BASE, *accelerators("n1"), ONE, *(claiming(f"p{n}", "a", OWN) for n in range(3))]
    rules = policy(queue("a", resource, cap=2))
    assert decided(objects, rules) == {"p0": "Scheduled", "p1": "Scheduled", "p2": "Waiting"}


def test_claims_and_requests_of_one_resource_count_together() -> None:
    by_request = pod("r", annotations={"maitred.dev/queue": "a"}, requests={GPU: "1"}, limits={GPU: "1"})
    objects = [*BASE, *accelerators("n1"), ONE, by_request, claiming("s", "a", OWN)]
    verdicts = decided(objects, policy(queue("a", OF_CLASS, cap=1)))
    assert sorted(verdicts.values()) == ["Scheduled", "Waiting"]


def test_what_runs_counts_by_what_it_has() -> None:
    spec = claim_spec(first_available("gpu", wish(CLASS, 3), wish(CLASS, 1)))
    running = claiming("r", "a", [use("gpu", template="any")], at="n1")
    objects = [
        *[*BASE, *accelerators("n1"), ONE, template("any", *spec["devices"]["requests"])],
        *[running, held("r-gpu", spec, "n1", ["d0"], [running], request="gpu/b")],
    ]
    rules = policy(queue("a", cap=3))
    assert used(objects, rules) == {"a": {f"{GPU} H100": 1}}
    waiting = [claiming(f"p{n}", "a", OWN) for n in range(3)]
    verdicts = decided([*objects, *waiting], rules)
    assert sorted(verdicts.values()) == ["Scheduled", "Scheduled", "Waiting"]


def test_of_alternatives_the_most_counts_until_one_is_chosen() -> None:
    more = template("more", first_available("gpu", wish(CLASS, 3), wish(CLASS, 1)))
    objects = [*BASE, *accelerators("n1"), more, claiming("p", "a", [use("gpu", template="more")])]
    assert decided(objects, policy(queue("a", cap=2))) == {"p": "Waiting"}
    assert decided(objects, policy(queue("a", cap=3))) == {"p": "Scheduled"}


def test_all_devices_count_as_the_most_that_a_node_has() -> None:
    every = template("every", exactly("gpu", wish(CLASS, None)))
    objects = [*BASE, *accelerators("n1", 4), every, claiming("p", "a", [use("gpu", template="every")])]
    assert decided(objects, policy(queue("a", cap=3))) == {"p": "Waiting"}
    assert decided(objects, policy(queue("a", cap=4))) == {"p": "Scheduled"}


def test_a_shared_claim_counts_once_for_the_queue_that_had_it_first() -> None:
    spec = claim_spec(exactly("gpu", wish(CLASS, 2)))
    first, second = (claiming(n, q, [use("gpu", "both")], at="n1") for n, q in (("x", "a"), ("b", "b")))
    claim = held("both", spec, "n1", ["d0", "d1"], [first, second])
    objects = [*BASE, *accelerators("n1"), ONE, first, second, claim]
    rules = policy(queue("a", cap=2), queue("b", cap=2))
    assert used(objects, rules) == {"a": {f"{GPU} H100": 2}}
    third = claiming("y", "a", [use("gpu", "both")])
    more = [claiming("p", "a", OWN), claiming("q", "b", OWN)]
    assert decided([*objects, third, *more], rules) == {"y": "Scheduled", "p": "Waiting", "q": "Scheduled"}


def test_members_that_share_a_new_claim_count_it_once() -> None:
    spec = claim_spec(exactly("gpu", wish(CLASS, 2)))
    marks = gang("g", 3)
    members = [claiming(f"g{n}", "a", [use("gpu", "both")], annotations=marks) for n in range(3)]
    objects = [*BASE, *accelerators("n1"), resource_claim("both", spec), *members]
    assert decided(objects, policy(queue("a", cap=1)))["g"] == "Waiting"
    assert decided(objects, policy(queue("a", cap=2)))["g"] == "Scheduled"


def test_access_for_an_administrator_counts_nothing() -> None:
    spec = claim_spec(exactly("gpu", wish(CLASS, admin=True)))
    running = claiming("r", "a", [use("gpu", template="look")], at="n1")
    claim = held("r-gpu", spec, "n1", ["d0"], [running], admin=True)
    objects = [*BASE, *accelerators("n1"), ONE, running, claim, claiming("p", "a", OWN)]
    rules = policy(queue("a", cap=1))
    assert used(objects, rules) == {}
    assert decided(objects, rules) == {"p": "Scheduled"}


def test_a_mark_of_a_claim_that_a_scheduler_makes_hides_nothing() -> None:
    """Whoever may write claims may also annotate them."""
    spec = claim_spec(exactly("container-0-request-0", wish(CLASS)))
    running = claiming("r", "a", [use("gpu", "mine")], at="n1")
    claim = held("mine", spec, "n1", ["d0"], [running])
    claim["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
    claim["metadata"]["labels"] = {"maitred.dev/queue": "b"}
    objects = [*BASE, *accelerators("n1"), running, claim]
    assert used(objects, policy(queue("a", cap=1), queue("b"))) == {"a": {f"{GPU} H100": 1}}


def test_what_a_scheduler_made_for_a_request_counts_once() -> None:
    running = pod("r", annotations={"maitred.dev/queue": "a"}, requests={GPU: "2"}, node="n1")
    spec = claim_spec(exactly("container-0-request-0", wish(CLASS, 2)))
    claim = held("r-extended-resources-x", spec, "n1", ["d0", "d1"], [running])
    objects = [*BASE, *accelerators("n1"), running, claim]
    assert used(objects, policy(queue("a", cap=9))) == {"a": {f"{GPU} H100": 2}}


def test_models_are_told_by_labels_or_else_by_drivers() -> None:
    limits = [{"resource": GPU, "model": "H100", "cap": 1}, {"resource": GPU, "model": "A100", "cap": 1}]
    told = [*accelerators("n1", model="NVIDIA H100"), *accelerators("n2", label="NVIDIA-A100")]
    waiting = [claiming(f"p{n}", "a", OWN) for n in range(3)]
    rules = policy({"name": "a", "limits": limits})
    plan = decide([*BASE, *told, ONE, *waiting], rules, NOON)
    assert verify([*BASE, *told, ONE, *waiting], plan, rules) == []
    assert sorted(one["node"] for one in plan["binds"]) == ["n1", "n2"]


def test_what_was_borrowed_by_claims_is_taken_back() -> None:
    spec = claim_spec(exactly("gpu", wish(CLASS, 4)))
    running = claiming("r", "b", [use("gpu", template="four")], at="n1")
    objects = [
        *BASE,
        *accelerators("n1"),
        ONE,
        running,
        held("r-gpu", spec, "n1", ["d0", "d1", "d2", "d3"], [running]),
    ]
    rules = policy(queue("a", guarantee=2), queue("b", guarantee=2))
    objects.append(claiming("p", "a", OWN))
    plan = decide(objects, rules, NOON)
    assert verify(objects, plan, rules) == []
    assert [(one["pod"], one["cause"]) for one in plan["evictions"]] == [("default/r", "Reclaim")]


def test_a_gang_by_claims_is_on_devices_of_one_model() -> None:
    nodes = [*accelerators("n1", 1, model="A100"), *accelerators("n2", 1, model="H100")]
    members = [claiming(f"g{n}", "a", OWN, annotations=gang("g", 2)) for n in range(2)]
    objects = [*BASE, *nodes, ONE, *members]
    assert decided(objects, policy(queue("a", cap=2)))["g"] == "Waiting"
    assert (
        decided([*objects, *accelerators("n3", 1, model="H100")], policy(queue("a", cap=2)))["g"]
        == "Scheduled"
    )


def test_an_override_lifts_past_a_cap_of_claims_and_no_further_than_the_group_asked_for_then() -> None:
    two = template("two", exactly("gpu", wish(CLASS, 2)))
    rules = policy(queue("a", OF_CLASS, cap=1))
    objects = [*BASE, *accelerators("n1"), ONE, two]
    [waiting] = [claiming("p", "a", [use("gpu", template="two")], created="2026-01-31T08:00:00Z")]
    memory = kept(lifted([*objects, waiting], rules, "p"))
    assert decided([*objects, waiting], rules) == {"p": "Waiting"}
    assert decided([*objects, waiting, memory], rules) == {"p": "Scheduled"}
    more = claiming(
        "p", "a", [use("gpu", template="two"), use("more", template="one")], created="2026-01-31T08:00:00Z"
    )
    assert decided([*objects, more, memory], rules) == {"p": "Waiting"}
