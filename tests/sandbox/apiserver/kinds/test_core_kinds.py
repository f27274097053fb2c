"""What pods, volumes and services become, beyond what a single refusal shows; and the rules for metadata."""

from typing import Any

import pytest

from maitred.sandbox.apiserver.kinds.metadata import check_metadata, check_metadata_update
from maitred.sandbox.apiserver.kinds.names import (
    NameRule,
    address,
    config_key,
    domain_path,
    label,
    label_key,
    label_value,
    path_segment,
    port_name,
    subdomain,
)
from maitred.sandbox.apiserver.kinds.pods import PODS
from maitred.sandbox.apiserver.kinds.resources import quality_of_service, total
from maitred.sandbox.apiserver.kinds.simple import Services
from maitred.sandbox.apiserver.kinds.volumes import PERSISTENT_VOLUMES
from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.kinds.asking import KINDS, read

MAIN = {"name": "main", "image": "busybox:1.36"}


def pod(**spec: Any) -> Body:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [dict(MAIN)], **spec},
    }


def service(port: int) -> Body:
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "x"},
        "spec": {"ports": [{"port": port}]},
    }
    return read(KINDS["v1", "Service"], body)


# -- metadata ----------------------------------------------------------------------------------------------


def metadata_errors(rule: NameRule = subdomain, **metadata: Any) -> list[str]:
    errors = check_metadata({"metadata": {"name": "x", "namespace": "default", **metadata}}, rule)
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


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (label, ["a", "a-1"], ["", "-a", "a-", "a.b", "A", "x" * 64]),
        (subdomain, ["a.b-c"], ["a..b", "x" * 254]),
        (label_key, ["a", "a.b/C_d", f"{'x' * 253}/{'y' * 63}"], ["", "a/", "/a", "a/b/c", "A/b", "y" * 64]),
        (label_value, ["", "a", "A_b.c"], ["a b", "-a", "x" * 64]),
        (config_key, ["a", ".a", "A-_b.c"], ["", ".", "..", "..a", "a b"]),
        (port_name, ["http", "8a"], ["80", "a--b", "-a", "a-", "x" * 16]),
        (domain_path, ["example.com/a/b"], ["a", "/a", "a/"]),
        (address, ["10.0.0.1", "::1"], ["", "10.0.0"]),
    ],
)
def test_forms_of_names(rule: NameRule, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if rule(text)] == []
    assert [text for text in bad if not rule(text)] == []


def metadata_change(old: Body, **new: Any) -> list[str]:
    old = {"name": "x", "uid": "1", "resourceVersion": "5", **old}
    return [error.field for error in check_metadata_update({"metadata": {**old, **new}}, {"metadata": old})]


def test_identity_does_not_change() -> None:
    assert not metadata_change({}, labels={"a": "b"}, finalizers=["example.dev/a"])
    assert metadata_change({}, uid="2", name="y") == ["metadata.name", "metadata.uid"]


def test_what_is_being_deleted_gets_no_more_finalizers() -> None:
    ending = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.dev/a"]}
    assert not metadata_change(ending, finalizers=[])
    assert metadata_change(ending, finalizers=["example.dev/a", "example.dev/b"]) == ["metadata.finalizers"]


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
        conditions=[{"type": "Ready", "status": "False"}],
    )
    new = {**old, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    PODS.before_status(new, old)
    assert new["status"] == {
        "phase": "Running",
        "qosClass": "BestEffort",
        "observedGeneration": 2,
        "resourceClaimStatuses": [{"name": "a"}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }


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
    first = service(80)
    first["metadata"]["uid"] = "8c0e6b52-3b0a-4d3e-9e3b-1b9b0d5a7f21"
    services = Services()
    services.before_create(first)
    assert first["spec"]["clusterIP"].startswith("10.0.")
    assert not services.check(first)
    update = service(81)
    services.before_update(update, first)
    assert update["spec"]["clusterIP"] == first["spec"]["clusterIP"]
