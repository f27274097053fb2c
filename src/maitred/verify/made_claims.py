"""Claims that a scheduler makes for pods: for devices of a class that they ask for by an extended resource.

A class serves a resource on the nodes that have none of it themselves. The pod then has one claim, with
requests for as many devices of the class as the pod asks for of the resource.
"""

from collections import Counter
from collections.abc import Iterator

from .allocations import faults
from .case import Breach, Case, breach
from .claims import consumers
from .fields import Doc
from .objects import Node
from .pods import Pod
from .requests import read_wish


def made_entries(case: Case) -> dict[str, Doc]:
    """Of the Plan, by the pod that each is made for."""
    return {
        entry.doc("made").text("pod"): entry
        for entry in case.plan.docs("claims")
        if entry.doc("made").text("pod")
    }


def judge_made_claims(case: Case) -> Iterator[Breach]:
    entries = made_entries(case)
    for pod, node in case.binds:
        asked = lacking(case, pod, node)
        entry = entries.pop(pod.key, None)
        if asked and entry is None:
            names = ", ".join(sorted(asked))
            yield breach(3, pod.key, f"asks for {names}, and no devices are allocated to it on {node.name}")
        if entry is not None:
            for fault in _faults(case, entry, pod, node, asked):
                yield breach(3, entry.text("claim"), fault)
    for key, entry in sorted(entries.items()):
        yield breach(3, entry.text("claim"), f"is made for {key}, which is not bound")


def lacking(case: Case, pod: Pod, node: Node) -> dict[str, int]:
    """What a pod asks for of resources that a class has to serve on a node."""
    return {
        resource: amount
        for resource, amount in pod.requests.items()
        if amount > 0 and resource in case.cluster.device_resources and not node.allocatable.get(resource)
    }


def _faults(case: Case, entry: Doc, pod: Pod, node: Node, asked: dict[str, int]) -> Iterator[str]:
    if entry.text("claim") in case.cluster.device_objects["ResourceClaim"]:
        yield "is to be made, and is there already"
    if consumers(entry) != [("", "pods", pod.name, pod.uid)]:
        yield f"is not reserved for {pod.key} alone"
    wanted, given = Counter[str](), Counter[str]()
    for resource, amount in asked.items():
        wanted[case.cluster.device_resources[resource]] += amount
    spec = entry.doc("made").doc("spec")
    for request in spec.doc("devices").docs("requests"):
        exact = request.doc("exactly")
        given[exact.text("deviceClassName")] += exact.integer("count") or 1
    if wanted != given:
        yield f"asks for {dict(given)} devices by class, its pod for {dict(wanted)}"
    wish = read_wish(spec, case.cluster.device_objects["DeviceClass"])
    if entry.doc("allocation").raw:
        yield from faults(case.cluster, wish, entry.doc("allocation"), [node])
