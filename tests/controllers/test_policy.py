"""The policy in force: what is read, what is refused, and what stays."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maitred.controllers import policy
from maitred.controllers.policy import Defaults, PolicyConfigMap, PolicyFile, PolicyKeeper, PolicySource
from maitred.kube.wire import ConfigMap, WatchedMeta
from maitred.model.manifest import InputError
from maitred.model.policy import Policy

GOOD = "search: {steps: 1234}\n"
BETTER = "search: {steps: 4321}\n"
BAD = "search: {stepz: 1}\n"


async def until(met: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


class Kept:
    def __init__(self) -> None:
        self.told: list[bool] = []
        self.changes = 0
        self.keeper = PolicyKeeper(self.told.append)
        self.keeper.changed = self.count

    def count(self) -> None:
        self.changes += 1


async def first_problem(source: PolicySource) -> InputError | None:
    kept = Kept()
    task = asyncio.create_task(source.run(kept.keeper))
    problem = await asyncio.wait_for(kept.keeper.first, 10)
    task.cancel()
    return problem


def test_the_defaults_are_a_policy() -> None:
    assert asyncio.run(first_problem(Defaults())) is None


def test_a_first_policy_that_is_bad_is_told_with_file_and_field(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(BAD)
    problem = asyncio.run(first_problem(PolicyFile(str(file))))
    assert str(problem) == f"{file}: search.stepz: there is no such field; did you mean steps?"


def test_a_file_is_read_again_and_a_bad_one_changes_nothing(tmp_path: Path, monkeypatch: object) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(GOOD)

    async def story() -> Kept:
        kept = Kept()
        policy_file = PolicyFile(str(file))
        task = asyncio.create_task(policy_file.run(kept.keeper))
        await kept.keeper.first
        file.write_text(BAD)
        await until(lambda: False in kept.told)
        assert kept.keeper.policy.search.steps == 1234
        file.unlink()
        await asyncio.sleep(2 * policy.SECONDS_BETWEEN_LOOKS)
        assert kept.keeper.policy.search.steps == 1234
        file.write_text(BETTER)
        await until(lambda: kept.keeper.policy.search.steps == 4321)
        task.cancel()
        return kept

    looks, policy.SECONDS_BETWEEN_LOOKS = policy.SECONDS_BETWEEN_LOOKS, 0.02
    try:
        kept = asyncio.run(story())
    finally:
        policy.SECONDS_BETWEEN_LOOKS = looks
    assert kept.told == [True, False, True]
    assert kept.changes == 2


def test_the_same_text_again_is_no_change() -> None:
    async def story() -> Kept:
        kept = Kept()
        for _ in range(3):
            kept.keeper.offer(GOOD.encode(), "test")
        return kept

    kept = asyncio.run(story())
    assert (kept.told, kept.changes) == ([True], 1)


class Watch:
    """Stands for the watch of one ConfigMap, which is there or not."""

    there: ConfigMap | None = None

    def __init__(self, client: object, resource: object, kind: object, sink: Any, **selected: object) -> None:
        self._sink = sink
        self.synced = asyncio.Event()

    async def run(self) -> None:
        if self.there is not None:
            self._sink.put(self.there)
        self.synced.set()
        await asyncio.Event().wait()


@pytest.mark.parametrize(("data", "steps"), [(None, Policy().search.steps), ({policy.KEY: GOOD}, 1234)])
def test_the_defaults_are_in_force_where_there_is_no_config_map(
    data: dict[str, str] | None, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = None if data is None else ConfigMap(WatchedMeta(name="policy", namespace="own"), data)
    monkeypatch.setattr(Watch, "there", found)
    monkeypatch.setattr(policy, "Reflector", Watch)

    async def story() -> Kept:
        kept, anything = Kept(), object()
        task = asyncio.create_task(PolicyConfigMap(anything, "own", "policy").run(kept.keeper))  # type: ignore[arg-type]
        assert await asyncio.wait_for(kept.keeper.first, 10) is None
        await asyncio.sleep(0)
        task.cancel()
        return kept

    kept = asyncio.run(story())
    assert (kept.keeper.policy.search.steps, kept.told) == (steps, [True])
