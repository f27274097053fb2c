"""What kubectl sends in protobuf: objects that it makes itself, of types that it knows."""

import pytest

from tests.sandbox.apiserver.kubectl.both import Both
from tests.sandbox.apiserver.kubectl.test_writing import without_words


@pytest.mark.parametrize(
    ("command", "resource"),
    [
        ("configmap one --from-literal=a= --from-literal=b=c", "configmap/one"),
        ("secret generic one --from-literal=a=b", "secret/one"),
        ("serviceaccount one", "serviceaccount/one"),
        ("poddisruptionbudget one --selector=a=b --min-available=50%", "poddisruptionbudget/one"),
        ("poddisruptionbudget two --selector=a=b --max-unavailable=0", "poddisruptionbudget/two"),
        ("role one --verb=get,list --resource=pods,jobs.batch", "role/one"),
        ("rolebinding one --clusterrole=view --user=jane --serviceaccount={ns}:one", "rolebinding/one"),
        ("clusterrole {ns} --verb=get --non-resource-url=/metrics", "clusterrole/{ns}"),
        ("clusterrolebinding {ns} --clusterrole=view --group=all", "clusterrolebinding/{ns}"),
        ("priorityclass {ns} --value=-5 --preemption-policy=Never", "priorityclass/{ns}"),
    ],
)
def test_create(both: Both, command: str, resource: str) -> None:
    assert "created" in both("create", *command.split())
    both("get", resource, "-o", "yaml", "--show-managed-fields")
    assert "already exists" in both("create", *command.split())


def test_a_wrong_object_is_refused_alike(both: Both) -> None:
    assert "Invalid value" in both("create", "configmap", "Not_A_Name", view=without_words)
    assert "Invalid value" in both("create", "job", "Not_A_Name", "--image=i", view=without_words)
