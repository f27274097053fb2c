"""Marks of pods can be changed while these run: nobody gains by naming a queue that is not theirs."""

from typing import Any

import pytest

from maitred.verify import verify
from tests.oracle import builders as b
from tests.support import decide

POLICY = {
    "queues": [
        {"name": "org", "limits": [{"resource": b.GPU, "guarantee": 4}]},
        {
            "name": "theirs",
            "parent": "org",
            "namespaces": {"matchLabels": {"kubernetes.io/metadata.name": "theirs"}},
            "limits": [{"resource": b.GPU, "guarantee": 4}],
        },
        {"name": "own", "limits": [{"resource": b.GPU, "cap": 8}]},
    ]
}


def world(mark: str) -> list[b.Obj]:
    """Four GPUs, which a pod of `others` has that is marked so; a group of `theirs` wants them."""
    marks: dict[str, Any] = {"annotations": {"maitred.dev/queue": mark}} if mark else {}
    return [
        *(b.namespace(name) for name in ("theirs", "others")),
        b.node("n", gpu=4),
        b.pod("runs", namespace="others", gpu=4, node="n", **marks),
        b.pod("new", namespace="theirs", gpu=4, annotations={"maitred.dev/queue": "theirs"}),
    ]


@pytest.mark.parametrize("mark", ["", "own", "none-such", "theirs", "org", "default"])
def test_what_a_queue_is_guaranteed_is_reclaimed_whatever_the_pods_say_that_have_it(mark: str) -> None:
    """`theirs` is closed to them, `org` is divided, and there is no `none-such`."""
    objects = world(mark)
    plan = decide(objects, POLICY)
    assert [(one["pod"], one["cause"]) for one in plan["evictions"]] == [("others/runs", "Reclaim")]
    assert not list(verify(objects, plan, policy=POLICY))
