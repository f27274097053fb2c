"""Random small clusters with devices, and one pod with one to three claims. The seed decides everything.

Values are few and small, so that features meet often enough to decide something.
"""

from random import Random
from typing import Any

from tests.devices.made import RACK, SPACE, World, named, node, pod
from tests.devices.random_claims import Claims
from tests.devices.random_hardware import EXTENDED, Dice, Hardware

Obj = dict[str, Any]

THEMES = (
    "admin",
    "all",
    "alternatives",
    "binding",
    "constraints",
    "extended",
    "held",
    "left",
    "lists",
    "partitions",
    "places",
    "pools",
    "shares",
    "taints",
)
"""What a cluster is about: with everything at once, hardly any pod would fit anywhere."""


SLOW = "binding"
"""kube-scheduler looks at binding conditions every five seconds, so fewer worlds have them."""


def make_world(seed: int, attempt: int = 0) -> World:
    """The same world in each attempt, under other names: kube-scheduler may still remember the last ones."""
    random = Random(seed)
    themes = frozenset(random.sample(THEMES, 3))
    if SLOW in themes and random.random() < 0.6:
        themes -= {SLOW}
    dice, prefix = Dice(random, themes), f"s{seed}{'abc'[attempt]}"
    names = [f"{prefix}-n{number}" for number in range(random.choice((1, 2, 3, 3)))]
    hardware = Hardware(dice, prefix, names)
    claims = Claims(dice, prefix, hardware)
    world = World(f"seed {seed}", themes=themes)
    world.objects += [node(name, rack=random.choice(("r1", "r2"))) for name in names]
    world.objects += [*hardware.objects, *claims.held()]
    _ask(world, dice, claims, prefix)
    return world


def _ask(world: World, dice: Dice, claims: Claims, prefix: str) -> None:
    """The pod, its claims by name, and templates for the others."""
    by_name, templates = list[str](), list[str]()
    for number in range(dice.one(1, 1, 2, 3)):
        made = claims.claim(f"{prefix}-claim{number}")
        if dice.chance(0.3):
            templates.append(f"{prefix}-template{number}")
            inner = {"spec": made["spec"]}
            world.objects.append(named("ResourceClaimTemplate", templates[-1], namespace=SPACE, spec=inner))
            continue
        if dice.theme("left", 0.5) and len(made["spec"]["devices"]["requests"]) == 1 and claims.any_known:
            made = claims.left_behind(made)
        by_name.append(made["metadata"]["name"])
        world.claims.append(made)
    spec: Obj = {"nodeSelector": {RACK: dice.one("r1", "r2")}} if dice.chance(0.1) else {}
    resources = {f"{prefix}.{EXTENDED}": dice.one("1", "2")} if dice.theme("extended", 0.7) else {}
    world.pod = pod(f"{prefix}-pod", *by_name, templates=templates, resources=resources, **spec)
