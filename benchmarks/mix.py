"""The hard mix: gangs of all kinds, as many different shapes as a busy cluster has, some of them hopeless."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.clusters import ZONES
from benchmarks.objects import (
    A100,
    H100,
    HOST,
    L4,
    POOL,
    PRODUCT,
    RACK,
    ZONE,
    Obj,
    Template,
    apart,
    job_pod,
    pod_group,
    spread,
)
from benchmarks.storage import bound_claims, claim_volume, local_claims, waiting_claims

HOPELESS = 0.08
PLAIN = 0.70
HARD = ("shapes", "shapes", "hosts", "racks", "zones", "waiting", "bound", "local")
"""The kinds of the other gangs, one as likely as the next."""


@dataclass(frozen=True, slots=True)
class Gang:
    name: str
    templates: tuple[Template, ...]
    size: int
    rack_bound: bool = False
    storage: str = ""

    def objects(self) -> Iterator[Obj]:
        yield pod_group(self.name, self.size, self.rack_bound)
        for index in range(self.size):
            template = self.templates[index % len(self.templates)]
            if self.storage:
                claim = f"{self.name}-data-{index}"
                template = replace(template, spec={**template.spec, **claim_volume(claim)})
            yield job_pod(self.name, index, template, self.name)
        yield from self._claims()

    def _claims(self) -> Iterator[Obj]:
        claims = [f"{self.name}-data-{index}" for index in range(self.size)]
        if self.storage == "waiting":
            yield from waiting_claims(claims)
        elif self.storage == "bound":
            yield from bound_claims(claims)
        elif self.storage == "local":
            yield from local_claims(claims)


def catalogue(count: int, rng: random.Random) -> list[Template]:
    """Templates of which no two ask for the same."""
    found: dict[str, Template] = {}
    while len(found) < count:
        gpus = rng.choice((0, 0, 1, 1, 2, 4, 8))
        cpu = rng.choice((1, 2, 3, 4, 6, 8, 12)) if gpus == 0 else gpus * rng.choice((2, 4, 6, 8, 10))
        memory = cpu * rng.choice((2, 4, 6, 8))
        spec = wishes(gpus, rng)
        found[repr((cpu, memory, gpus, spec))] = Template(str(cpu), f"{memory}Gi", gpus, spec)
    return list(found.values())


def wishes(gpus: int, rng: random.Random) -> Obj:
    """Selectors and tolerations; what needs eight GPUs is not sent to nodes with four."""
    spec: Obj = {}
    chance = rng.random()
    if gpus and chance < 0.5:
        machine = rng.choice((H100, A100) if gpus > 4 else (H100, A100, L4))
        spec["nodeSelector"] = {PRODUCT: machine.product}
    elif chance < 0.6:
        spec["nodeSelector"] = {ZONE: rng.choice(ZONES)}
    elif chance < 0.7:
        spec["nodeSelector"] = {POOL: "training" if gpus else "general"}
    if rng.random() < 0.3:
        spec["tolerations"] = [{"key": "example.com/team-red", "operator": "Exists", "effect": "NoSchedule"}]
    return spec


def gangs(count: int, shapes: int, rng: random.Random) -> Iterator[Gang]:
    """Gangs that go through the catalogue in turn, so that every shape is used."""
    templates = catalogue(shapes, rng)
    for number in range(count):
        name, size = f"gang-{number:04}", rng.choice((8, 16, 24, 32, 48, 64))
        template = templates[number % len(templates)]
        chance = rng.random()
        if chance < HOPELESS:
            yield hopeless(name, template, size, rng)
        elif chance < PLAIN:
            rack_bound = rng.random() < 0.3 and size * max(1, template.gpus) <= 32
            yield Gang(name, (template,), size, rack_bound)
        else:
            others = rng.sample(templates, 2)
            yield hard(name, HARD[number % len(HARD)], template, others, size)


def hopeless(name: str, template: Template, size: int, rng: random.Random) -> Gang:
    """No node of its kind, more than a node has, or more than a rack has."""
    match rng.randrange(3):
        case 0:
            spec = {**template.spec, "nodeSelector": {PRODUCT: "NVIDIA-B300"}}
            return Gang(name, (replace(template, spec=spec),), size)
        case 1:
            return Gang(name, (replace(template, gpus=16),), size)
        case _:
            return Gang(name, (replace(template, gpus=8, spec={}),), 64, rack_bound=True)


def hard(name: str, kind: str, template: Template, others: list[Template], size: int) -> Gang:
    own = {"job-name": name}
    match kind:
        case "shapes":
            return Gang(name, (template, *others), size)
        case "hosts":
            return Gang(name, (added(template, apart(own, HOST)),), size)
        case "racks":
            return Gang(name, (added(template, apart(own, RACK)),), min(size, 32))
        case "zones":
            roomy = replace(template, spec={k: v for k, v in template.spec.items() if k != "nodeSelector"})
            return Gang(name, (added(roomy, spread(own, ZONE)),), size)
        case storage:
            return Gang(name, (template,), size, storage=storage)


def added(template: Template, spec: Obj) -> Template:
    return replace(template, spec={**template.spec, **spec})
