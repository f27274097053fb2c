"""What an hour of the devices costs that stand idle for groups of a queue: it pays for them as for others."""

from collections.abc import Sequence

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.kept import kept_places, nodes_with
from maitred.cluster.nodes import Ints
from maitred.cluster.queues.book import QueueBook
from maitred.cluster.queues.charges import Floats
from maitred.cluster.snapshot import Snapshot
from maitred.decide.scoring import device_columns
from maitred.model.policy import health_taints


def idle_rates(book: QueueBook, snapshot: Snapshot, queues: Sequence[int], units: Ints) -> Floats:
    """By each of these queues, in its unit; with those below it."""
    found = np.zeros(len(queues))
    if not any(view.nominated for view in snapshot.groups):
        return found
    nodes, place = snapshot.nodes, {queue: number for number, queue in enumerate(queues)}
    columns = list(device_columns(nodes, book.policy))
    resources = [nodes.resources[column] for column in columns]
    free = np.maximum(nodes.allocatable[columns] - snapshot.used[columns], 0)
    free[:, nodes_with(nodes, health_taints(book.policy))] = 0
    asked = _asked(snapshot, resources)
    rates = np.array([book.charges.of_resource(resource) for resource in resources])
    models = book.model_of(nodes)
    for kept in kept_places(snapshot, asked, _leaving(snapshot, asked), free):
        if kept.view.account == NO_ACCOUNT:
            continue
        cost = np.tensordot(kept.amounts, rates[:, :, models[kept.row]], axes=1)
        for queue in book.tree.chain[book.accounts[kept.view.account].queue]:
            if queue in place:
                found[place[queue]] += cost[units[place[queue]]]
    return found


def _asked(snapshot: Snapshot, resources: Sequence[str]) -> Ints:
    """Devices that pods of each needs request, by resource."""
    found = np.zeros((len(resources), len(snapshot.needs)), dtype=np.int64)
    for number, needs in enumerate(snapshot.needs):
        for resource, count in needs.requests:
            if resource in resources:
                found[resources.index(resource), number] = count
    return found


def _leaving(snapshot: Snapshot, asked: Ints) -> Ints:
    """What those have who leave, by resource and node."""
    bound = snapshot.bound
    going, found = bound.terminating, np.zeros((len(asked), len(snapshot.nodes.names)), dtype=np.int64)
    for place, amounts in enumerate(asked):
        np.add.at(found[place], bound.node[going], amounts[bound.needs[going]])
    return found
