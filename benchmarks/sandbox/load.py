"""The pods of the benchmark: those of Indexed Jobs, so that each is as large as real ones are."""

from collections.abc import Sequence

from benchmarks.kube.bodies import MEMBERS, Body, body
from benchmarks.objects import Template, job_pod
from maitred.kube.resources import PODS

NOBODY = "nobody"
"""Their scheduler, so that none but the benchmark binds them."""
SMALL = Template("2", "8Gi", 0, spec={"schedulerName": NOBODY})


def pods(prefix: str, count: int, nodes: Sequence[str] = ()) -> list[Body]:
    """With nodes, pods that have their places already, in turns."""
    return [pod(prefix, number, nodes[number % len(nodes)] if nodes else "") for number in range(count)]


def pod(prefix: str, number: int, node: str) -> Body:
    job, index = divmod(number, MEMBERS)
    made = job_pod(f"{prefix}-{job:04}", index, SMALL, node_name=node)
    # There is no such Job, and whoever collects garbage would take its pods away.
    del made["metadata"]["ownerReferences"]
    return body(PODS, made)
