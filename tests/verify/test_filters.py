"""Filters of one node at a time: what only the checker is asked.

The tables in tests/decide/test_constraints*.py ask the engine and the checker, case by case.
"""

import pytest

from .make import Raw, node, node_affinity, pod, reason, taint

GPU = taint("gpu", "a100")


@pytest.mark.parametrize(
    ("where", "spec"),
    [
        (node("n1"), {"affinity": node_affinity()}),
        (node("n1", taints=[GPU]), {"tolerations": [{"key": "gpu", "operator": "Like", "value": "a100"}]}),
    ],
    ids=["no terms match nothing", "an operator that there is not"],
)
def test_what_no_api_server_takes_lets_no_pod_in(where: Raw, spec: Raw) -> None:
    assert reason([where, pod("p", **spec)], "p", "n1") is not None


def test_device_claims_must_exist_and_be_within_reach() -> None:
    wish: Raw = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]}
    objects = [node("n1"), node("n2"), pod("p", **wish)]
    assert "is missing" in (reason(objects, "p", "n1") or "")
    host = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}
    where = {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}}
    claim = {"kind": "ResourceClaim", "apiVersion": "resource.k8s.io/v1"}
    meta = {"namespace": "default", "name": "c"}
    objects.append({**claim, "metadata": meta, "status": {"allocation": where}})
    assert reason(objects, "p", "n1") is None
    assert "cannot be reached" in (reason(objects, "p", "n2") or "")
