"""What kubectl shows."""

import re

from tests.sandbox.apiserver.kubectl.both import Both, Kubectl
from tests.sandbox.apiserver.kubectl.manifests import (
    CLAIM,
    CONFIG,
    GROUP,
    JOB,
    MENU,
    MENUS,
    NODE,
    POD,
    several,
)


def test_get(both: Both) -> None:
    both("create", "-f", "-", stdin=several(POD, CONFIG, JOB, GROUP))
    assert "worker" in both("get", "pods")
    both("get", "pods", "-o", "wide")
    both("get", "pod", "worker", "-o", "yaml")
    both("get", "pod", "worker", "-o", "json")
    both("get", "pods", "-o", "name")
    both("get", "pods", "--show-labels", "-L", "app")
    both("get", "pods", "-o", "custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[0].image")
    both("get", "pods", "-o", "jsonpath={.items[*].status.phase}")
    both("get", "pods", "--sort-by=.metadata.creationTimestamp", "--no-headers")
    both("get", "pods,configmaps,jobs,podgroups")
    both("get", "all")


def test_claims_to_devices(both: Both) -> None:
    both("apply", "-f", "-", stdin=CLAIM)
    assert "pending" in both("get", "resourceclaims,resourceclaimtemplates")
    both("get", "resourceclaim", "gpus", "-o", "yaml")
    both("get", "resourceclaimtemplate", "gpus", "-o", "yaml")
    both("describe", "resourceclaim", "gpus")
    both("delete", "resourceclaim", "gpus")


def test_get_nothing(both: Both) -> None:
    assert "No resources found" in both("get", "pods")
    assert "NotFound" in both("get", "pod", "none")
    assert "the server doesn't have a resource type" in both("get", "nonsense")
    both("get", "pods", "--ignore-not-found", "none")
    both("get", "pods", "-o", "json")


def test_get_selected(both: Both) -> None:
    both("create", "-f", "-", stdin=POD)
    both("run", "other", "--image=registry.example/other:1", "--labels=app=other")
    assert "other" not in both("get", "pods", "-l", "app=work")
    assert "worker" not in both("get", "pods", "--field-selector=metadata.name=other")
    both(
        "get", "pods", "--field-selector=status.phase=Pending", "-l", "app in (work, other)", "--chunk-size=1"
    )
    both("get", "pods", "-A", "--field-selector=metadata.namespace={ns}")
    assert "BadRequest" in both("get", "pods", "--field-selector=spec.colour=red")


def test_get_watch(both: Both) -> None:
    both("create", "-f", "-", stdin=POD)

    def change(kubectl: Kubectl) -> None:
        kubectl("label", "pod", "worker", "a=b")
        kubectl("delete", "pod", "worker", "--now")
        kubectl("run", "last", "--image=registry.example/work:1")

    shown = both.lines(6, "get", "pods", "--watch", during=change)
    assert shown[-1].startswith("last")


def test_get_watch_events_of_an_object(both: Both) -> None:
    both("create", "-f", "-", stdin=CONFIG)

    def change(kubectl: Kubectl) -> None:
        kubectl("label", "configmap", "settings", "a=b")
        kubectl("delete", "configmap", "settings")

    shown = both.lines(4, "get", "configmaps", "--output-watch-events", "--watch", during=change)
    assert [line.split()[0] for line in shown] == ["EVENT", "ADDED", "MODIFIED", "DELETED"]


def test_get_custom_resources(both: Both) -> None:
    both("create", "-f", "-", stdin=MENUS)
    both("wait", "--for=condition=Established", "crd/menus.kubectl.example", "--timeout=20s")
    both("apply", "-f", "-", stdin=MENU)
    assert "WEIGHT" in both("get", "menus")
    both("get", "mn", "first", "-o", "yaml")
    both("describe", "menu", "first")
    both("get", "crd", "menus.kubectl.example")
    both("patch", "menu", "first", "--type=merge", "-p", '{"spec": {"weight": 4}}')
    both("delete", "menu", "first")


def test_describe(both: Both) -> None:
    both("create", "-f", "-", stdin=several(POD, JOB, GROUP, NODE, CONFIG))
    for what in (
        "pod/worker",
        "job/train",
        "podgroup/gang",
        "node/{ns}-node",
        "configmap/settings",
    ):
        both("describe", what)
    both("describe", "pods")
    assert "NotFound" in both("describe", "pod", "none")
    both("delete", "node", "{ns}-node")


EVENT = """\
apiVersion: v1
kind: Event
metadata: {name: worker.1, namespace: "{ns}"}
involvedObject: {kind: Pod, namespace: "{ns}", name: worker, apiVersion: v1}
type: Warning
reason: Unschedulable
message: no room
source: {component: maitred}
firstTimestamp: "2026-01-02T03:04:05Z"
lastTimestamp: "2026-01-02T03:04:05Z"
count: 2
"""


def test_events(both: Both) -> None:
    both("create", "-f", "-", stdin=several(POD, EVENT))
    assert "no room" in both("events", "--for=pod/worker")
    assert "No events found" in both("events", "--types=Normal")
    both("get", "events")
    both("get", "events", "-o", "wide")


def test_api_resources(both: Both) -> None:
    ours, real = both.ours("api-resources"), both.real("api-resources")
    rows = {" ".join(line.split()) for line in real.out.splitlines()}
    mine = {" ".join(line.split()) for line in ours.out.splitlines()}
    assert mine <= rows
    assert {"podgroups scheduling.k8s.io/v1beta1 true PodGroup", "jobs batch/v1 true Job"} <= mine


def test_api_versions(both: Both) -> None:
    ours, real = (side("api-versions").out.split() for side in (both.ours, both.real))
    assert set(ours) <= set(real)
    assert "scheduling.k8s.io/v1beta1" in ours


def fields(text: str) -> str:
    """Of an explanation: the names and types, without the words about them."""
    return "\n".join(re.findall(r"^(?:KIND|VERSION|GROUP|FIELD): .*|^ \S+ <\S+>.*", text, re.MULTILINE))


def test_explain(both: Both) -> None:
    for what in (
        "pod",
        "pod.spec.containers",
        "job.spec",
        "podgroup.spec.schedulingPolicy.gang",
        "node.spec.taints",
    ):
        both("explain", what, view=fields)
    assert "minCount" in both.ours("explain", "podgroup", "--recursive").out
    assert "does not exist" in both("explain", "pod.spec.nothing")


def test_get_raw(both: Both) -> None:
    both("create", "-f", "-", stdin=CONFIG)
    both("get", "--raw", "/readyz")
    whole = both("get", "--raw", "/api/v1/namespaces/{ns}/configmaps/settings", view=sorted_characters)
    assert whole.endswith("}\n")
    assert "NotFound" in both("get", "--raw", "/api/v1/namespaces/{ns}/configmaps/none")


def sorted_characters(text: str) -> str:
    """The order of fields in an object is nobody's promise."""
    return "".join(sorted(text))


def test_version_and_cluster(both: Both) -> None:
    assert "Server Version: v1.37.1" in both("version")
    both("cluster-info")
    both("config", "view", view=lambda text: re.sub(r"certificate-authority.*", "", text))


def test_auth(both: Both) -> None:
    assert both("auth", "can-i", "create", "pods").strip() == "yes"
    both("auth", "can-i", "create", "pods", "--as=nobody")
    both("auth", "whoami")
