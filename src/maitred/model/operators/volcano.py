"""Volcano's Jobs: tasks that are one gang."""

from maitred.model.job import PodTemplate
from maitred.model.meta import Lean
from maitred.model.objects import Object
from maitred.model.operators.parts import Name, Several, Size
from maitred.model.operators.podgroups import NetworkTopology


class TaskDependency(Lean, frozen=True):
    name: Several[Name] = ()
    """Tasks that must run before this one is created."""


class Task(Lean, frozen=True):
    name: Name = ""
    replicas: Size = 0
    min_available: Size | None = None
    template: PodTemplate = PodTemplate()
    depends_on: TaskDependency = TaskDependency()


class VolcanoJobSpec(Lean, frozen=True):
    min_available: Size = 0
    tasks: Several[Task] = ()
    scheduler_name: Name = ""
    queue: Name = ""
    priority_class_name: Name = ""
    network_topology: NetworkTopology | None = None


class VolcanoJobState(Lean, frozen=True):
    phase: Name = ""


class VolcanoJobStatus(Lean, frozen=True):
    state: VolcanoJobState = VolcanoJobState()


class VolcanoJob(Object, frozen=True):
    spec: VolcanoJobSpec = VolcanoJobSpec()
    status: VolcanoJobStatus = VolcanoJobStatus()
