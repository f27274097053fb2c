"""Claims of strangers: their names are told to nobody else, and they take as much whoever looks."""

import copy
import re
from typing import Any

import msgspec
from hypothesis import assume, given

from maitred.decide import decide
from maitred.explain.remedies.seeking import explained_plan
from maitred.explain.situation import Situation
from maitred.model.plan import Plan
from maitred.model.policy import Policy
from tests.explain.test_redaction import NOW, assert_kept, seen
from tests.oracle.builders import Obj, namespace, node, pod
from tests.oracle.device_builders import (
    claim_spec,
    claim_template,
    device,
    device_class,
    exactly,
    resource_slice,
    use,
    wish,
)
from tests.oracle.device_worlds import device_worlds
from tests.oracle.effort import examples
from tests.support import snapshot_of

SECRET = "secret"
STRANGER = re.compile(r"(h|old)(-.*)?")
"""The second group of a world, and the pods that run."""


def with_strangers(objects: list[Obj]) -> list[Obj]:
    hidden = [_moved(_hidden(copy.deepcopy(item))) for item in objects]
    return [*hidden, namespace(f"{SECRET}-team")]


def _hidden(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _hidden(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_hidden(inner) for inner in value]
    return f"{SECRET}-{value}" if isinstance(value, str) and STRANGER.fullmatch(value) else value


def _moved(item: Obj) -> Obj:
    if item["metadata"]["name"].startswith(SECRET):
        item["metadata"]["namespace"] = f"{SECRET}-team"
    return item


def _own(plan: Plan) -> list[tuple[str, str, int, list[Any]]]:
    groups = (group for group in plan.groups if group.group.startswith("default/"))
    return [(one.group, one.verdict, one.placed, [b.category for b in one.blockers]) for one in groups]


def check(objects: list[Obj]) -> None:
    snapshot = snapshot_of(with_strangers(objects))
    veiled, whole = seen(snapshot), Situation(snapshot, Policy(), NOW)
    told = explained_plan(veiled)
    assert_kept(told)
    assert _own(told) == _own(explained_plan(whole))
    plans = decide(veiled.snapshot, Policy(), NOW), decide(snapshot, Policy(), NOW)
    assert len({len(plan.binds) for plan in plans}) == 1


@given(device_worlds(size=(1, 2), groups=2))
@examples(40)
def test_names_of_claims_are_kept_and_devices_go_to_whom_they_go(objects: list[Obj]) -> None:
    uses = msgspec.json.encode([o for o in objects if o["metadata"]["name"].startswith("g")]).decode()
    assume('"old-0"' not in uses)  # nobody uses the claims of another namespace
    check(objects)


def test_a_claim_of_strangers_that_costs_too_much_gets_nothing_in_either_view() -> None:
    """They come first, and would have the only device; how their selector is written nobody else knows."""
    gpu = 'device.attributes["gpu.example.com"]'
    dear = f'{gpu}.number >= 0 && lists.range(900).all(x, x >= 0) && "{SECRET}" != ""'
    made = [device(f"gpu-{n}", {"number": n}) for n in range(60)]
    specs = {
        "h-t": claim_spec(exactly("r", wish("gpu", 1, dear))),
        "g-t": claim_spec(exactly("r", wish("gpu"))),
    }
    pods = [pod(f"{name[0]}-0", spec={"resourceClaims": [use("own", template=name)]}) for name in specs]
    templates = [claim_template(name, spec) for name, spec in specs.items()]
    pool = resource_slice("n1", "gpu.example.com", made, node="n1")
    check([device_class("gpu", "true"), node("n1"), pool, *templates, *pods])
