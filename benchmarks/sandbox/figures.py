"""What is measured, in which unit, and what of it was promised."""

from dataclasses import dataclass

from benchmarks.figures import Goal

PER_SECOND, SECONDS, MICROSECONDS = "/s", "s", "µs"
MEGABYTES, OF_A_CORE = "MB", "% of a core"


@dataclass(frozen=True, slots=True)
class Measure:
    what: str
    unit: str
    goal: Goal | None = None


BINDS_GOAL = Goal(1_000, at_least=True)
LIST_GOAL = Goal(1.0)

CREATES = Measure("pods created", PER_SECOND)
CREATE_CPU = Measure("CPU for one pod created", MICROSECONDS)
BINDS = Measure("binds", PER_SECOND, BINDS_GOAL)
BIND_CPU = Measure("CPU for one bind", MICROSECONDS)
STATUS_PATCHES = Measure("status patches", PER_SECOND)
STATUS_PATCH_CPU = Measure("CPU for one status patch", MICROSECONDS)
WATCHED = Measure("events to 10 watches, while pods are patched", PER_SECOND)
LIST = Measure("list all pods", SECONDS, LIST_GOAL)
LIST_IN_PAGES = Measure("list all pods, in pages of 500", SECONDS, LIST_GOAL)
TABLE_IN_PAGES = Measure("list all pods as tables, in pages of 500", SECONDS, LIST_GOAL)
SELECTED = Measure("list the 64 pods of one job", SECONDS)
KUBECTL = Measure("kubectl get pods --all-namespaces", SECONDS)
MEMORY = Measure("memory with all of them", MEGABYTES)

FIRST_SEATED = Measure("maitred up --story queue, to the first gang seated", SECONDS, Goal(3.0))
NODES_UP = Measure("maitred up, to all nodes ready", SECONDS)
STARTED = Measure("pods created that have their nodes, to all of them running", PER_SECOND)
IDLE = Measure("CPU when nothing happens, with heartbeats and controllers", OF_A_CORE)
GANG_BOUND = Measure("a Job that is one large gang, to all of its pods bound", SECONDS)
GANG_RUNNING = Measure("a Job that is one large gang, to all of its pods running", SECONDS)
BINDS_AND_STARTS = Measure("binds from outside, while kubelets start the pods", PER_SECOND)

Found = dict[Measure, float]


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    pods: int
    gang: int
    """Pods of the large gang."""
