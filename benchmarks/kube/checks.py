"""A rate counts only for what is right: whole gangs, in one rack where asked, and no node too full."""

from collections import Counter, defaultdict

from benchmarks.kube.bodies import MEMBERS, NODE_GPUS, Ask, Gang, gang_of, node_number, rack_name

Places = dict[str, str]
"""Pod -> node."""


class WrongError(Exception):
    """A scheduler has bound what it must not, or the watcher has not seen all of it."""


def check(crowd: list[Gang], found: Places, seen: Places, finished: bool) -> None:
    """`found` is what the server has in the end, also of pods without a node."""
    bound = {pod: node for pod, node in found.items() if node}
    if seen != bound:
        raise WrongError(f"the watcher has seen {len(seen)} binds, and the server has {len(bound)} or others")
    for node, pods in Counter(bound.values()).items():
        if pods > NODE_GPUS:
            raise WrongError(f"node {node} has {NODE_GPUS} GPUs and {pods} pods")
    nodes = defaultdict[str, list[str]](list)
    for pod, node in bound.items():
        nodes[gang_of(pod)].append(node)
    for gang in crowd:
        check_gang(gang, nodes[gang.name], finished)


def check_gang(gang: Gang, nodes: list[str], finished: bool) -> None:
    racks = {rack_name(node_number(node)) for node in nodes}
    if gang.ask is Ask.RACK and len(racks) > 1:
        raise WrongError(f"{gang.name} must be in one rack and is in {', '.join(sorted(racks))}")
    if finished and len(nodes) != MEMBERS:
        raise WrongError(f"{gang.name} has {MEMBERS} members, and {len(nodes)} are bound")
