"""kubectl and nodes, and how it waits."""

from tests.sandbox.apiserver.kubectl.both import Both, Kubectl
from tests.sandbox.apiserver.kubectl.manifests import NODE, POD, several

BOUND = POD.replace("spec:\n", "spec:\n  nodeName: '{ns}-node'\n")
READY = '{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}'


def test_taint(both: Both) -> None:
    both("create", "-f", "-", stdin=NODE)
    both("taint", "nodes", "{ns}-node", "a=b:NoSchedule")
    assert "already has" in both("taint", "nodes", "{ns}-node", "a=c:NoSchedule")
    both("taint", "nodes", "{ns}-node", "a=c:NoSchedule", "--overwrite")
    both("get", "node", "{ns}-node", "-o", "jsonpath={.spec.taints}")
    both("taint", "nodes", "{ns}-node", "a-")


def test_cordon(both: Both) -> None:
    both("create", "-f", "-", stdin=NODE)
    both("cordon", "{ns}-node")
    assert "SchedulingDisabled" in both("get", "node", "{ns}-node")
    both("cordon", "{ns}-node")
    both("uncordon", "{ns}-node")
    both("get", "node", "{ns}-node", "-o", "wide")


def test_drain(both: Both) -> None:
    both("create", "-f", "-", stdin=several(NODE, BOUND))
    assert "cannot delete" in both("drain", "{ns}-node")
    assert "evicted" in both("drain", "{ns}-node", "--force", "--grace-period=0", "--timeout=20s")
    both("get", "pods")


BUDGET = """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: keep}
spec:
  minAvailable: 1
  selector: {matchLabels: {app: work}}
"""


def test_drain_against_a_budget(both: Both) -> None:
    both("create", "-f", "-", stdin=several(NODE, BOUND, BUDGET))
    running = '{"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}'
    both("patch", "pod", "worker", "--subresource=status", "--type=merge", "-p", running)
    counted = '{"status": {"observedGeneration": 1, "desiredHealthy": 1, "currentHealthy": 1}}'
    both("patch", "pdb", "keep", "--subresource=status", "--type=merge", "-p", counted)
    refused = both("drain", "{ns}-node", "--force", "--timeout=1s", view=first_of_each)
    assert "disruption budget" in refused


def first_of_each(text: str) -> str:
    """How often it tries within its second is a matter of speed."""
    return "\n".join(dict.fromkeys(text.splitlines()))


def test_wait_for_a_condition(both: Both) -> None:
    both("create", "-f", "-", stdin=POD)
    assert "timed out" in both("wait", "--for=condition=Ready", "pod/worker", "--timeout=1s")
    both("patch", "pod", "worker", "--subresource=status", "-p", READY)
    assert "condition met" in both("wait", "--for=condition=Ready", "pod/worker", "--timeout=20s")
    both("wait", "--for=jsonpath={.status.phase}=Pending", "pods", "--all", "--timeout=20s")
    both("wait", "--for=create", "pod/worker", "--timeout=20s")


def test_wait_notices(both: Both) -> None:
    """Not only what is there already, but what becomes so."""
    both("create", "-f", "-", stdin=POD)
    for side in (both.ours, both.real):
        waits_for_ready(side)


def waits_for_ready(side: Kubectl) -> None:
    with side.begin("wait", "--for=condition=Ready", "pod/worker", "--timeout=20s") as waiting:
        side("patch", "pod", "worker", "--subresource=status", "-p", READY)
        assert waiting.wait(25) == 0


def test_wait_for_deletion(both: Both) -> None:
    both("create", "-f", "-", stdin=BOUND)
    both("delete", "pod", "worker", "--wait=false")
    assert "timed out" in both("wait", "--for=delete", "pod/worker", "--timeout=1s")
    both("delete", "pod", "worker", "--force", "--grace-period=0")
    both("wait", "--for=delete", "pod/worker", "--timeout=20s")
