"""Three teams on two models of devices: quotas of models and of users, what is borrowed and given back."""

import json
from dataclasses import dataclass

from maitred.controllers.policy import PolicyKeeper
from maitred.sandbox.kubelets.bodies import Machine
from tests.scenarios.api import Json
from tests.scenarios.dialect import JOBS, job_body
from tests.scenarios.gangs import GPU, ONE_BY_ONE, WITH_GPU
from tests.scenarios.healing import IsSuspended, Untouched, Whole
from tests.scenarios.objects import Job
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Bound, Delete, Exist, Gone, NotBound, PodsTold, Settle

MODEL = "nvidia.com/gpu.product"
H100, A100 = "NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-80GB"
TRAINING = {"containers": [WITH_GPU]}


def machine(name: str, model: str) -> Machine:
    return Machine(name, {"cpu": "8", "memory": "32Gi", GPU: "4"}, {MODEL: model})


NODES = machine("h", H100), machine("a", A100)
FIRST, SECOND = Job("first", 2, spec=TRAINING), Job("second", 2, spec=TRAINING)
PROUD = Job("proud", 1, spec={**TRAINING, "nodeSelector": {MODEL: H100}})
SWEEP, MORE, BOBS = (
    Job("sweep", 2, spec=TRAINING),
    Job("more", 1, spec=TRAINING),
    Job("bobs", 2, spec=TRAINING),
)
PRETRAIN = Job("pretrain", 4, spec=TRAINING)


@dataclass(frozen=True)
class ThreeTeams:
    """Vision has a quota of H100, language of A100; the users of the lab borrow two devices each at most."""

    async def run(self, keeper: PolicyKeeper) -> None:
        limits: dict[str, Json] = {
            "vision": {"model": "H100", "guarantee": 2, "cap": 2},
            "language": {"model": "A100", "guarantee": 4},
            "lab": {"perUser": 2},
        }
        queues = [{"name": name, "limits": [{"resource": GPU, **said}]} for name, said in limits.items()]
        keeper.offer(json.dumps({"queues": queues}).encode(), "the scenario")


async def submit(stage: Stage, job: Job, queue: str, user: str = "") -> None:
    """As the policies of admission leave it: whose it is stands on the Job."""
    body = job_body(job, stage.dialect)
    body["metadata"]["annotations"] = {"maitred.dev/queue": queue} | (
        {"maitred.dev/user": user} if user else {}
    )
    await stage.api.create(JOBS, body)


def test_three_teams_share_two_models(server: Server) -> None:
    async def act(stage: Stage) -> None:
        stage.start(source=lambda _: ThreeTeams())
        await submit(stage, FIRST, "vision")
        await stage.play(Bound(FIRST, on={MODEL: H100}))
        await quota_of_models(stage)
        await quota_of_users(stage)
        await stage.play(Untouched(FIRST, (Reclaim(),)))

    play(server, Scenario("three teams", NODES, (), settings=ONE_BY_ONE), act)


async def quota_of_models(stage: Stage) -> None:
    """Two H100 are still free, but not for vision, whose next group takes A100."""
    await submit(stage, SECOND, "vision")
    await stage.play(Bound(SECOND, on={MODEL: A100}))
    await submit(stage, PROUD, "vision")
    words = f"Waiting: Quota: it would fit, but queue vision may have 2 {GPU} (H100) and has 2"
    await stage.play(Exist(PROUD), PodsTold(PROUD, words, "Quota"), Settle(), NotBound(PROUD))
    await stage.play(Delete(PROUD), Gone(PROUD))


async def quota_of_users(stage: Stage) -> None:
    """Ann has what she may have, and Bob takes what she leaves."""
    await submit(stage, SWEEP, "lab", "ann")
    await stage.play(Bound(SWEEP, on={MODEL: A100}))
    await submit(stage, MORE, "lab", "ann")
    words = "Waiting: Quota: it would fit, but"
    await stage.play(Exist(MORE), PodsTold(MORE, words, "Quota"), Settle(), NotBound(MORE))
    await submit(stage, BOBS, "lab", "bob")
    await stage.play(Bound(BOBS, on={MODEL: H100}), Delete(MORE), Gone(MORE))


class Reclaim:
    """Language takes back what two teams have of its model. Their Jobs survive: each runs again as soon as
    there is room where it may be."""

    async def play(self, stage: Stage) -> None:
        await submit(stage, PRETRAIN, "language")
        await stage.play(Untouched(BOBS, (IsSuspended(SECOND), IsSuspended(SWEEP), Whole(PRETRAIN))))
        await stage.check_laws()
        await stage.play(Delete(BOBS), Gone(BOBS), Whole(SWEEP), Bound(SWEEP, on={MODEL: H100}))
        await stage.play(Settle(), IsSuspended(SECOND), Delete(PRETRAIN), Gone(PRETRAIN))
        await stage.play(Whole(SECOND), Bound(SECOND, on={MODEL: A100}))
