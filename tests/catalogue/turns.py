"""Groups whose members differ, end one by one, or have others before and after them."""

from tests.catalogue.situation import Chapter, Situation, crew, one, seated
from tests.oracle import builders as b
from tests.oracle.builders import Obj


def gang(name: str, count: int, quorum: int | None = None, **fields: int) -> list[Obj]:
    """Another group of members of eight GPUs."""
    return [b.pod_group(name, quorum or count), *b.pods(name, count, gpu=8, group=name, **fields)]


def gpu_nodes(count: int, taken: int = 0) -> list[Obj]:
    nodes = [b.node(f"n{i}", gpu=8) for i in range(count)]
    return [*nodes, *(seated(f"old-{i}", f"n{i}", gpu=8) for i in range(taken))]


ENDING = Chapter(
    "Members that end one by one",
    [
        Situation(
            "The one that runs will end",
            "Two of four members have succeeded, one runs, and the last waits for its node.",
            [
                b.node("n1", gpu=8),
                b.pod_group("crew", 4),
                *b.pods("crew", 2, gpu=8, group="crew", node="n1", phase="Succeeded"),
                *b.pods("crew", 1, gpu=8, group="crew", start=2, node="n1"),
                *b.pods("crew", 1, gpu=8, group="crew", start=3),
            ],
            {"Capacity": {"requested": "8", "free": "0", "eligibleNodes": 1, "holds": 0, "needed": 1}},
            remedy="quorum",
        ),
        Situation(
            "Too many wait for those that run to end",
            "Of five members one has succeeded and one runs; three wait, and the node has room for two.",
            [
                b.node("n1", cpu=2),
                b.pod_group("crew", 5),
                *b.pods("crew", 1, 1, group="crew", node="n1", phase="Succeeded"),
                *b.pods("crew", 1, 1, group="crew", start=1, node="n1"),
                *b.pods("crew", 3, 1, group="crew", start=2),
            ],
            {"Capacity": {"requested": "3", "free": "1", "holds": 1, "needed": 3}},
            "Impossible",
            remedy="nodes",
        ),
        Situation(
            "An elastic gang of which one has ended",
            "Three of five members are needed; one has succeeded, one runs, three wait for the same node.",
            [
                b.node("n1", gpu=8),
                b.pod_group("crew", 3),
                *b.pods("crew", 1, gpu=8, group="crew", node="n1", phase="Succeeded"),
                *b.pods("crew", 1, gpu=8, group="crew", start=1, node="n1"),
                *b.pods("crew", 3, gpu=8, group="crew", start=2),
            ],
            {"Capacity": {"requested": "8", "free": "0", "holds": 0, "needed": 1}},
            remedy="quorum",
        ),
        Situation(
            "A failed member that was made again",
            "One member runs, one has failed, and the node for the one in its place is taken.",
            [
                *gpu_nodes(2, taken=1),
                b.pod_group("crew", 2),
                *b.pods("crew", 1, gpu=8, group="crew", node="n1"),
                *b.pods("crew", 1, gpu=8, group="crew", start=1, node="n0", phase="Failed"),
                *b.pods("crew", 1, gpu=8, group="crew", start=2),
            ],
            {"Capacity": {"requested": "8", "free": "0", "eligibleNodes": 2, "holds": 0, "needed": 1}},
            remedy="quorum",
        ),
        Situation(
            "A launcher that takes the whole node",
            "A launcher of 8 cpu and two workers of 4; the node has 8 cpu, enough for the workers alone.",
            [
                b.node("n1", cpu=8),
                *crew(1, 8, quorum=3),
                *b.pods("crew", 2, 4, group="crew", start=1, created=10),
            ],
            {"Capacity": {"requested": "16", "free": "8", "holds": 2, "needed": 3}},
            "Impossible",
            remedy="members",
        ),
        Situation(
            "A launcher and as many workers as fit",
            "A launcher of 2 cpu and three workers of 3; the node has 8 cpu.",
            [
                b.node("n1", cpu=8),
                *crew(1, 2, quorum=4),
                *b.pods("crew", 3, 3, group="crew", start=1, created=10),
            ],
            {"Capacity": {"requested": "11", "free": "8", "holds": 3, "needed": 4}},
            "Impossible",
            remedy="members",
        ),
    ],
)

TURNS = Chapter(
    "Groups before and after it",
    [
        Situation(
            "A gang of lower priority is placed after it",
            "Four members of eight GPUs on three such nodes; a gang of three, of lower priority, fits there.",
            [*gpu_nodes(3), *crew(4, gpu=8, priority=10), *gang("low", 3, created=1)],
            {
                "Capacity": {
                    "requested": "32",
                    "free": "24",
                    "eligibleNodes": 3,
                    "holds": 3,
                    "needed": 4,
                }
            },
            "Impossible",
            remedy="nodes",
        ),
        Situation(
            "A younger gang is placed after it",
            "Four members of eight GPUs; three such nodes are free, and a younger gang takes two of them.",
            [*gpu_nodes(4, taken=1), *crew(4, gpu=8), *gang("young", 2, created=20)],
            {"Capacity": {"requested": "32", "free": "24", "holds": 3, "needed": 4}},
            remedy="nodes",
        ),
        Situation(
            "An older gang is placed before it",
            "Three members of eight GPUs; three such nodes are free, and an older gang takes one of them.",
            [*gpu_nodes(4, taken=1), *crew(3, gpu=8), *gang("older", 1, created=1)],
            {"Priority": {"ahead": ["default/older"], "holds": 2, "needed": 3}},
            remedy="members",
        ),
        Situation(
            "The surplus of an equal comes after it",
            "An older gang needs one of its three members; its surplus takes the nodes that are left.",
            [*gpu_nodes(4, taken=1), *crew(3, gpu=8), *gang("elastic", 3, 1, created=1)],
            {"Priority": {"ahead": ["default/elastic"], "holds": 2, "needed": 3}},
            remedy="members",
        ),
        Situation(
            "Pods of the same Job go first",
            "Five pods of one Job, each decided by itself; the node has room for the four that are older.",
            [
                b.node("n1", cpu=4),
                b.job("work", 5),
                *b.pods("sibling", 4, 1, owner="Job/work", created=1),
                one(1, owner="Job/work"),
            ],
            {"Priority": {"holds": 0, "needed": 1}},
            remedy="nodes",
        ),
    ],
)
