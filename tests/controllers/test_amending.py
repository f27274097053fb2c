"""A Plan without groups that are not there."""

import msgspec

from maitred.controllers.scheduling.amending import Away, without
from maitred.model.plan import Bind, Plan, VolumeChoice
from maitred.model.pod import Pod
from tests.oracle import builders as b


def pod(name: str, *claims: str) -> Pod:
    raw = b.pod(name)
    raw["spec"]["volumes"] = [
        {"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims
    ]
    return msgspec.convert(raw, Pod)


def test_a_volume_that_only_a_left_out_group_gets_is_left_out() -> None:
    waiting = {"default/a": pod("a", "own", "shared"), "default/b": pod("b", "shared", "other")}
    plan = Plan(
        binds=tuple(Bind(key, "", "n1", key) for key in waiting),
        volumes=tuple(VolumeChoice(f"default/{name}", "pv", "n1") for name in ("own", "shared", "other")),
    )
    left = without(plan, Away(frozenset({"default/a"})), waiting)
    assert [bind.pod for bind in left.binds] == ["default/b"]
    assert [choice.claim for choice in left.volumes] == ["default/shared", "default/other"]
