"""Pods, nodes, namespaces, volumes and small kinds: what may be created, and how it may change."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from maitred.sandbox.apiserver.kinds.amounts import total
from maitred.sandbox.apiserver.kinds.metadata import check_metadata, check_metadata_update
from maitred.sandbox.apiserver.kinds.names import NameRule, path_segment, subdomain
from maitred.sandbox.apiserver.kinds.pods import PODS
from maitred.sandbox.apiserver.kinds.podspecs import check_pod_template
from maitred.sandbox.apiserver.kinds.qos import quality_of_service
from maitred.sandbox.apiserver.kinds.services import SERVICES
from maitred.sandbox.apiserver.kinds.volumes import PERSISTENT_VOLUMES
from maitred.sandbox.apiserver.schema.scalars import Misfit
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.controlplane.run import ControlPlane
from tests.sandbox.apiserver.kinds.asking import (
    KINDS,
    Answer,
    Case,
    answer_here,
    answer_there,
    comparable,
    errors_here,
    read,
)
from tests.sandbox.apiserver.kinds.container_cases import OF_CONTAINERS
from tests.sandbox.apiserver.kinds.core_cases import OF_CORE, of_kind
from tests.sandbox.apiserver.kinds.making import MAIN, PREFERRED, REQUIRED, container, pod
from tests.sandbox.apiserver.kinds.pod_cases import OF_PODS
from tests.sandbox.apiserver.kinds.pod_change_cases import OF_CHANGES
from tests.sandbox.apiserver.kinds.pod_volume_cases import OF_POD_VOLUMES
from tests.sandbox.apiserver.schema.real import Real

CASES = (*OF_PODS, *OF_POD_VOLUMES, *OF_CONTAINERS, *OF_CHANGES, *OF_CORE)
RANK = ("priority", "preemptionPolicy")
"""Resolved by admission, which is not a matter of one object's rules."""
TIMES = ("lastTransitionTime", "lastPhaseTransitionTime")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rules(case: Case) -> None:
    errors = [str(error) for error in errors_here(case)]
    assert len(errors) == len(case.errors), errors
    for error, begin in zip(errors, case.errors, strict=True):
        assert error.startswith(begin)


def test_a_real_server_says_the_same(bare_control_plane: ControlPlane) -> None:
    real, differences = Real(bare_control_plane), list[str]()
    for case in CASES:
        here, there = told(answer_here(case)), told(answer_there(real, case))
        if here != there:
            differences.append(f"{case}\n  here:  {here}\n  there: {there}")
    assert not differences, "\n".join(differences)


def told(answer: Answer) -> Any:
    """What clients see; a change that is refused is shown line by line, in forms that differ."""
    if answer.code >= 400:
        code, message, details = comparable(answer)
        causes = [{**cause, "message": up_to_lines(cause["message"])} for cause in details["causes"]]
        return code, up_to_lines(message), {**details, "causes": causes}
    return comparable(answer, RANK), timeless(answer.body.get("status"))


def up_to_lines(message: str) -> str:
    return message.partition("\n@@")[0]


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if key not in TIMES}
    return [timeless(each) for each in value] if isinstance(value, list) else value


# -- metadata ----------------------------------------------------------------------------------------------


def metadata_errors(
    namespaced: bool = True, rule: NameRule = subdomain, any_finalizers: bool = False, **metadata: Any
) -> list[str]:
    body = {"metadata": {"name": "x", "namespace": "default", **metadata}}
    errors = check_metadata(body, namespaced=namespaced, name_rule=rule, any_finalizers=any_finalizers)
    return [error.field for error in errors]


def test_names_are_as_their_kind_allows() -> None:
    assert metadata_errors(name="a/b", rule=path_segment) == ["metadata.name"]
    assert metadata_errors(name="..", rule=path_segment) == ["metadata.name"]
    assert not metadata_errors(name="System:Admin", rule=path_segment)
    assert metadata_errors(name="System:Admin") == ["metadata.name"]


def test_names_are_generated_from_prefixes_that_may_end_with_a_dash() -> None:
    assert not metadata_errors(generateName="web-")
    assert metadata_errors(generateName="Web-") == ["metadata.generateName"]
    assert metadata_errors(name="", generateName="") == ["metadata.name"]


def test_namespaces_are_for_kinds_that_have_one() -> None:
    assert metadata_errors(namespaced=False) == ["metadata.namespace"]
    assert metadata_errors(namespace="") == ["metadata.namespace"]
    assert metadata_errors(namespace="a.b") == ["metadata.namespace"]


def test_finalizers_say_whose_they_are_unless_the_kind_takes_any() -> None:
    assert not metadata_errors(any_finalizers=True, finalizers=["mine"])
    assert metadata_errors(finalizers=["mine"]) == ["metadata.finalizers[0]"]


def metadata_change(old: Body, **new: Any) -> list[str]:
    old = {"name": "x", "uid": "1", "resourceVersion": "5", **old}
    body, before = {"metadata": {**old, **new}}, {"metadata": old}
    return [str(error) for error in check_metadata_update(body, before, any_finalizers=False)]


def test_identity_does_not_change() -> None:
    assert not metadata_change({}, labels={"a": "b"}, finalizers=["example.dev/a"])
    assert metadata_change({}, uid="2") == ['metadata.uid: Invalid value: "2": field is immutable']
    assert metadata_change({}, name="y") == ['metadata.name: Invalid value: "y": field is immutable']
    assert metadata_change({}, resourceVersion="") == [
        'metadata.resourceVersion: Invalid value: "": must be specified for an update'
    ]


def test_what_is_being_deleted_gets_no_more_finalizers() -> None:
    ending = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.dev/a"]}
    assert not metadata_change(ending, finalizers=[])
    assert metadata_change(ending, finalizers=["example.dev/a", "example.dev/b"]) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"example.dev/b"}'
    ]


# -- pods --------------------------------------------------------------------------------------------------


def created(body: Body) -> Body:
    pod = read(KINDS["v1", "Pod"], body)
    pod["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    PODS.before_create(pod)
    return pod


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ([{}], "BestEffort"),
        ([{"limits": {"example.dev/gpu": "1"}}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
        ([{"requests": {"cpu": "1"}, "limits": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}}], "Burstable"),
    ],
)
def test_quality_of_service(resources: list[Body], quality: str) -> None:
    containers = [{**MAIN, "name": f"c{n}", "resources": each} for n, each in enumerate(resources)]
    assert created(pod(containers=containers))["status"]["qosClass"] == quality


def test_quality_of_service_of_a_pod_with_resources_of_its_own() -> None:
    own = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}
    assert quality_of_service({"resources": own, "containers": [{}]}) == "Guaranteed"


def test_a_gated_pod_says_so_from_the_start() -> None:
    [condition] = created(pod(schedulingGates=[{"name": "a"}]))["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "PodScheduled",
        "False",
        "SchedulingGated",
    )
    assert condition["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert "conditions" not in created(pod())["status"]


def test_an_update_keeps_what_it_does_not_know_of() -> None:
    old = created(pod(resources={"limits": {"cpu": "1"}}))
    new = read(KINDS["v1", "Pod"], pod())
    PODS.before_update(new, old)
    assert new["spec"]["resources"] == old["spec"]["resources"]
    assert new["spec"]["tolerations"] == old["spec"]["tolerations"]


def test_a_status_keeps_what_it_does_not_know_of() -> None:
    old = created(pod())
    old["status"].update(
        observedGeneration=2,
        resourceClaimStatuses=[{"name": "a"}],
        conditions=[{"type": "Ready", "status": "False", "observedGeneration": 2}],
    )
    new = {**old, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    PODS.before_status(new, old)
    assert new["status"] == {
        "phase": "Running",
        "qosClass": "BestEffort",
        "observedGeneration": 2,
        "resourceClaimStatuses": [{"name": "a"}],
        "conditions": [{"type": "Ready", "status": "True", "observedGeneration": 2}],
    }


def test_templates_get_less_than_pods_and_are_checked_like_them() -> None:
    template = read(
        KINDS["batch/v1", "Job"],
        {
            "spec": {"template": {"spec": container(resources={"limits": {"cpu": "1"}})["spec"]}},
            "metadata": {},
        },
    )["spec"]["template"]
    assert template["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}}
    assert template["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert "enableServiceLinks" not in template["spec"]
    assert not check_pod_template(template, "spec.template")
    template["metadata"] = {"labels": {"a b": "c"}}
    template["spec"]["containers"][0].update(image="", name="Main")
    template["spec"]["ephemeralContainers"] = [
        {**template["spec"]["containers"][0], "image": "i", "name": "e"}
    ]
    assert [error.field for error in check_pod_template(template, "spec.template")] == [
        "spec.template.labels",
        "spec.template.spec.containers[0].name",
        "spec.template.spec.containers[0].image",
        "spec.template.spec.ephemeralContainers[0].resources",
        "spec.template.spec.ephemeralContainers",
    ]


@pytest.mark.parametrize(
    ("body", "warnings"),
    [
        (pod(), []),
        (
            pod({"name": "a.b"}),
            [
                "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
                "a DNS label is recommended: [must not contain dots]"
            ],
        ),
        (
            container(resources={"requests": {"memory": "100m"}}),
            [
                'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, '
                "must be an integer"
            ],
        ),
        (
            container(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
            [
                'spec.containers[0].env[1]: hides previous definition of "A", '
                "which may be dropped when using apply"
            ],
        ),
        (container(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "$(A) 2"}]), []),
        (
            pod(affinity={"podAffinity": {REQUIRED: [{"topologyKey": "a"}]}}),
            [
                f"spec.affinity.podAffinity.{REQUIRED}[0].labelSelector: "
                "a null labelSelector results in matching no pod"
            ],
        ),
        (
            pod(
                affinity={
                    "podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": {"topologyKey": "a"}}]}
                }
            ),
            [
                f"spec.affinity.podAntiAffinity.{PREFERRED}[0].podAffinityTerm.labelSelector: "
                "a null labelSelector results in matching no pod"
            ],
        ),
        (
            pod(nodeSelector={"beta.kubernetes.io/os": "linux"}),
            [
                "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; "
                'use "kubernetes.io/os" instead'
            ],
        ),
        (
            container(ports=[{"containerPort": 1, "name": "x"}, {"containerPort": 1, "hostPort": 2}]),
            ["spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]"],
        ),
    ],
)
def test_warnings(body: Body, warnings: list[str]) -> None:
    assert PODS.warnings(created(body), None) == warnings


# -- the rest ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ("1", "500m", "1500m"),
        ("1Gi", "1Gi", "2Gi"),
        ("512Mi", "1Gi", "1536Mi"),
        ("1", "1Ki", "1025"),
        ("0", "0", "0"),
    ],
)
def test_amounts_are_added_in_the_way_of_the_first(first: str, second: str, both: str) -> None:
    assert total(first, second) == both


def test_a_volume_says_since_when_it_is_so() -> None:
    old = {"status": {"phase": "Pending", "lastPhaseTransitionTime": "2026-01-01T00:00:00Z"}}
    same: Body = {"status": {"phase": "Pending"}}
    PERSISTENT_VOLUMES.before_status(same, old)
    assert same == old
    other: Body = {"status": {"phase": "Bound"}}
    PERSISTENT_VOLUMES.before_status(other, old)
    assert other["status"]["lastPhaseTransitionTime"] > old["status"]["lastPhaseTransitionTime"]


def test_services_have_an_address_that_stays() -> None:
    service = read(KINDS["v1", "Service"], of_kind("Service", spec={"ports": [{"port": 80}]}))
    service["metadata"]["uid"] = "8c0e6b52-3b0a-4d3e-9e3b-1b9b0d5a7f21"
    SERVICES.before_create(service)
    assert service["spec"]["clusterIP"].startswith("10.0.")
    assert not SERVICES.check(service)
    update = read(KINDS["v1", "Service"], of_kind("Service", spec={"ports": [{"port": 81}]}))
    SERVICES.before_update(update, service)
    assert update["spec"]["clusterIP"] == service["spec"]["clusterIP"]
    assert not SERVICES.check_update(update, service)
    update["spec"].update(clusterIP="10.0.0.9", clusterIPs=["10.0.0.9"])
    assert [error.field for error in SERVICES.check_update(update, service)] == ["spec.clusterIPs[0]"]


# -- anything ----------------------------------------------------------------------------------------------


def test_the_rules_have_an_answer_to_everything() -> None:
    """Each good and bad body and change, with each of its parts missing, empty or of another kind."""
    answered = 0
    for case in CASES:
        for other in spoiled(case):
            try:
                errors_here(other)
            except Misfit:
                continue
            answered += 1
    assert answered > 5_000


def spoiled(case: Case) -> Iterator[Case]:
    if case.change is None:
        return (replace(case, body=other) for other in of_other_parts(case.body))
    return (replace(case, change=other) for other in of_other_parts(case.change))


def of_other_parts(body: Body) -> Iterator[Body]:
    for part in body.keys() - {"apiVersion", "kind", "metadata"}:
        yield from ({**body, part: other} for other in variants(body[part]))


def variants(value: Any) -> Iterator[Any]:
    yield from (None, "", "x", "1e1000", 0, -1, [], {}, True)
    if isinstance(value, dict):
        for key, each in value.items():
            yield from ({**value, key: other} for other in variants(each))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from ([*value[:index], other, *value[index + 1 :]] for other in variants(each))
