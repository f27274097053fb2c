"""Law 10 where the owner of the victims is an operator's: killed between any two writes, it converges.

The operator is a small imitation of JobSet's, so that every server can have it. What must hold: the JobSet is
suspended by its own field, its Job only by the operator; all pods come back; and no record stays.
"""

from maitred.kube.resources import JOBS
from maitred.model.suspension import SUSPENDED
from tests.scenarios.api import Json, eventually
from tests.scenarios.dialect import job_body
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.line import Trouble
from tests.scenarios.objects import Job, nodes
from tests.scenarios.preempting import ForgetRecords, NoRecords, annotations
from tests.scenarios.preemption import CLASSES, LOW, ranked
from tests.scenarios.server import Server
from tests.scenarios.small_operator import JOB_SETS, WORKERS, job_set_operator
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Bound, Create, Delete, Gone, Told
from tests.scenarios.test_preemption_crashes import GANG, PREEMPTOR, SIZE, crash, started

NAME = "low"
JOB = f"{NAME}-{WORKERS}-0"
PLACES = Scenario("killed at every write", nodes(SIZE, cpu=1), (), settings=ONE_BY_ONE)


def test_killed_at_every_write_of_a_preemption_and_of_the_return(server: Server) -> None:
    async def act(stage: Stage) -> None:
        await stage.play(CLASSES)
        async with job_set_operator(stage.api):
            away, back = await writes_when_nothing_goes_wrong(stage)
            assert (away, back) > (0, 0)
            for write in range(1, away + 1):
                await fill(stage)
                await crash(stage, write, Create(GANG, PREEMPTOR))
                stage.start()
                await stage.play(Bound(PREEMPTOR))
                await is_away(stage)
                await stage.check_laws()
                await empty(stage)
            for write in range(1, back + 1):
                await fill(stage)
                await preempt(stage)
                await crash(stage, write, Delete(PREEMPTOR))
                stage.start()
                await is_back(stage)
                await stage.check_laws()
                await empty(stage)

    play(server, PLACES, act)


# -- what it takes -------------------------------------------------------------------------------------------


async def writes_when_nothing_goes_wrong(stage: Stage) -> tuple[int, int]:
    await fill(stage)
    actor = await started(stage, Trouble())
    await stage.play(Create(GANG, PREEMPTOR), Told(PREEMPTOR, "Scheduled"))
    await is_away(stage)
    away = len(actor.line.journal.writes)
    await stage.play(Delete(PREEMPTOR))
    await is_back(stage)
    await stage.stop()
    back = len(actor.line.journal.writes) - away
    await empty(stage)
    return away, back


async def fill(stage: Stage) -> None:
    """All places are taken by the pods of the JobSet, and no scheduler runs."""
    body = job_body(Job(NAME, SIZE, spec=ranked(LOW)), stage.dialect)
    workers = {"name": WORKERS, "replicas": 1, "template": {"spec": body["spec"]}}
    await stage.api.create(
        JOB_SETS, {**KIND, "metadata": {"name": NAME}, "spec": {"replicatedJobs": [workers]}}
    )
    stage.start()
    await eventually(lambda: not_running(stage))
    await stage.stop()


KIND = {"apiVersion": JOB_SETS.api_version, "kind": JOB_SETS.kind}


async def preempt(stage: Stage) -> None:
    stage.start()
    await stage.play(Create(GANG, PREEMPTOR), Told(PREEMPTOR, "Scheduled"))
    await is_away(stage)
    await stage.stop()


def pods(stage: Stage) -> list[str]:
    return [name for name in stage.observer.pods if name.startswith(f"{JOB}-")]


def not_running(stage: Stage) -> str:
    running = [name for name in pods(stage) if stage.observer.pods[name].status.phase == "Running"]
    return "" if len(running) == SIZE else f"{running} run"


async def found(stage: Stage) -> tuple[Json, Json]:
    return await stage.api.get(JOB_SETS, NAME), await stage.api.get(JOBS, JOB)


async def is_away(stage: Stage) -> None:
    """By the field of the JobSet, with the reason on it, and on its Job the operator's word alone."""

    async def missing() -> str:
        job_set, job = await found(stage)
        if not job_set["spec"].get("suspend") or SUSPENDED not in annotations(job_set):
            return "the JobSet is not suspended"
        assert SUSPENDED not in annotations(job), "nobody writes to the Job behind the operator's back"
        return f"{pods(stage)} are still there" if pods(stage) else ""

    await eventually(missing)


async def is_back(stage: Stage) -> None:
    async def missing() -> str:
        job_set, _ = await found(stage)
        if job_set["spec"].get("suspend") or SUSPENDED in annotations(job_set):
            return "the JobSet is suspended"
        return not_running(stage)

    await eventually(missing)
    await stage.play(NoRecords())


async def empty(stage: Stage) -> None:
    await stage.stop()
    await stage.api.delete(JOB_SETS, NAME)
    await stage.api.delete(JOBS, JOB)
    await stage.play(Delete(PREEMPTOR), Gone(PREEMPTOR))
    await eventually(lambda: ", ".join(pods(stage)))
    await stage.play(ForgetRecords())
    stage.observer.lives.clear()
    if stage.served.groups is not None:
        await stage.play(Delete(GANG))
