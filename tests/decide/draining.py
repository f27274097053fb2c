"""Gangs on nodes that are drained, and requests for that."""

import json
from copy import deepcopy
from typing import Any

from tests.oracle import builders as b
from tests.oracle.builders import Obj

NOW, ASKED, BY = "2026-01-31T12:00:00Z", "2026-01-31T11:59:00Z", "2026-01-31T14:00:00Z"


def drain(*nodes: str, name: str = "drain-1", progress: Obj | None = None, **more: Any) -> Obj:
    request = {"nodes": list(nodes), "by": BY, "asked": ASKED, **more}
    meta = b.metadata(f"maitred-drain-{name}", "maitred-system", {"maitred.dev/record": "drain"})
    data = {"record": json.dumps(request)}
    if progress is not None:
        data["progress"] = json.dumps(progress)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def make_room(*rooms: tuple[str, ...], name: str = "room", **more: Any) -> Obj:
    """For the group that each begins with, by moving the others."""
    wanted = [{"group": group, "units": units} for group, *units in rooms]
    return drain(name=name, **{"room": wanted, **more})


def gang(
    *nodes: str,
    name: str = "train",
    quorum: int | None = None,
    gpu: int = 8,
    started: str = "2026-01-31T11:00:00Z",
    **more: Any,
) -> list[Obj]:
    more = {"owner": f"Job/{name}", "created": 1, **more}
    return [
        b.pod_group(name, len(nodes) if quorum is None else quorum),
        *(
            running(b.pod(f"{name}-{i}", gpu=gpu, group=name, index=i, node=node, **more), started)
            for i, node in enumerate(nodes)
        ),
    ]


def running(pod: Obj, started: str) -> Obj:
    pod["status"]["startTime"] = started
    return pod


def again(objects: list[Obj], plan: Obj) -> list[Obj]:
    """The same cluster, with what the Plan says of the progress of its requests."""
    said = {one["name"]: one["progress"] for one in plan["drains"] if one["progress"] is not None}
    found = deepcopy(objects)
    for one in found:
        name = one["metadata"]["name"].removeprefix("maitred-drain-")
        if one["kind"] == "ConfigMap" and name in said:
            one["data"]["progress"] = json.dumps(said[name])
    return found


def moved(objects: list[Obj], state: str, name: str = "train") -> list[Obj]:
    """The members of a gang while they leave, or once they have been made anew."""
    found = deepcopy(objects)
    for one in found:
        if one["kind"] != "Pod" or not one["metadata"]["name"].startswith(f"{name}-"):
            continue
        if state == "Terminating":
            one["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:30Z"
            one["metadata"]["deletionGracePeriodSeconds"] = 30
        else:
            one["metadata"].pop("deletionTimestamp", None)
            one["metadata"].pop("deletionGracePeriodSeconds", None)
            one["metadata"]["uid"] += "-again"
            one["spec"].pop("nodeName", None)
            one["status"] = {"phase": "Pending"}
    return found


def bound(entries: list[Obj]) -> list[str]:
    return sorted(one["pod"] for one in entries)


def node(name: str, **more: Any) -> Obj:
    return b.node(name, gpu=8, **more)
