"""What the claims of pods mean by now: claims, templates, groups, and what is not made yet."""

from maitred.cluster.devices.needs import ClaimNeed
from maitred.cluster.state import Put
from tests.oracle.builders import Obj, node
from tests.support import read, state_of

CLASS: Obj = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}}
ONE_GPU: Obj = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}


def template(name: str = "gpu") -> Obj:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"spec": ONE_GPU},
    }


def claim(name: str, owner: str = "", **status: object) -> Obj:
    meta: Obj = {"name": name, "namespace": "default"}
    if owner:
        meta["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": owner, "controller": True}
        ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": meta,
        "spec": ONE_GPU,
        "status": status,
    }


def pod(source: Obj, uid: str = "u", **status: object) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "uid": uid},
        "spec": {"containers": [{"name": "c"}], "resourceClaims": [{"name": "gpus", **source}]},
        "status": status,
    }


FROM_TEMPLATE: Obj = {"resourceClaimTemplateName": "gpu"}
BY_NAME: Obj = {"resourceClaimName": "mine"}


def needs(*objects: Obj, live: bool = False) -> tuple[tuple[str, ...], tuple[ClaimNeed, ...]]:
    """The keys of the claims of the one pod that waits, and what they mean."""
    snapshot = state_of(read([node("n1", cpu=1), CLASS, *objects]), waits_for_owners=live).snapshot()
    [view] = snapshot.groups
    return view.device_claims[0], snapshot.shapes[int(view.shapes[0])].devices


def problem(*objects: Obj, live: bool = False) -> str:
    _, [need] = needs(*objects, live=live)
    return need.problem


def test_in_files_a_claim_is_as_its_template_says_and_is_named_after_the_pod() -> None:
    keys, [need] = needs(template(), pod(FROM_TEMPLATE))
    assert keys == ("default/p-gpus",)
    assert need.spec
    assert not need.claim
    assert not need.problem


def test_in_a_cluster_it_is_waited_for() -> None:
    assert problem(template(), pod(FROM_TEMPLATE), live=True) == (
        "no claim has been made yet from template default/gpu"
    )


def test_pods_that_stand_in_for_others_wait_for_no_claim() -> None:
    assert problem(template(), pod(FROM_TEMPLATE, uid="owner:p"), live=True) == ""


def test_the_status_of_the_pod_says_which_claim_was_made() -> None:
    made: Obj = {"resourceClaimStatuses": [{"name": "gpus", "resourceClaimName": "p-gpus-x7"}]}
    keys, [need] = needs(template(), claim("p-gpus-x7", owner="u"), pod(FROM_TEMPLATE, **made), live=True)
    assert keys == ("default/p-gpus-x7",)
    assert need.spec
    assert not need.problem


def test_a_claim_that_was_made_for_another_pod_is_not_taken() -> None:
    made: Obj = {"resourceClaimStatuses": [{"name": "gpus", "resourceClaimName": "stolen"}]}
    said = problem(template(), claim("stolen", owner="someone"), pod(FROM_TEMPLATE, **made))
    assert said == "claim default/stolen was made for another Pod"


def test_what_does_not_exist_is_named() -> None:
    assert problem(pod(FROM_TEMPLATE)) == "claim template default/gpu does not exist"
    assert problem(pod(BY_NAME)) == "claim default/mine does not exist"


def test_an_allocated_claim_is_used_where_its_devices_are() -> None:
    where = {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
    }
    _, [need] = needs(claim("mine", allocation={"nodeSelector": where}), pod(BY_NAME))
    assert need.allocated
    assert need.reach is not None
    assert not need.spec


def test_a_claim_has_room_for_so_many_pods() -> None:
    users = [{"resource": "pods", "name": f"q{n}", "uid": f"q{n}"} for n in range(250)]
    _, [need] = needs(claim("mine", allocation={}, reservedFor=users), pod(BY_NAME))
    assert need.consumers == 6


def test_a_claim_changes_its_meaning_with_its_object() -> None:
    state = state_of(read([node("n1", cpu=1), CLASS, pod(BY_NAME)]))
    before = state.snapshot()
    state.apply(Put(*read([claim("mine")])))
    after = state.snapshot()
    assert before.shapes[int(before.groups[0].shapes[0])].devices[0].problem
    assert not after.shapes[int(after.groups[0].shapes[0])].devices[0].problem


def group(made: str = "") -> Obj:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "crew", "namespace": "default", "uid": "g"},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 1}},
            "resourceClaims": [{"name": "gpus", **FROM_TEMPLATE}],
        },
        "status": {"resourceClaimStatuses": [{"name": "gpus", "resourceClaimName": made}]} if made else {},
    }


def test_a_claim_of_the_group_is_shared_and_reserved_for_it() -> None:
    member = pod(FROM_TEMPLATE)
    member["spec"]["schedulingGroup"] = {"podGroupName": "crew"}
    keys, [need] = needs(template(), group(), member)
    assert keys == ("default/crew-gpus",)
    assert (need.claim, need.group) == ("default/crew-gpus", ("crew", "g"))
    keys, [need] = needs(template(), group("crew-gpus-1"), claim("crew-gpus-1"), member, live=True)
    assert keys == ("default/crew-gpus-1",)
    assert (need.claim, need.problem) == ("default/crew-gpus-1", "")
