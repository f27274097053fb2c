"""Small clusters with devices for Hypothesis: one group waits, and whether it starts is up to its claims.

Features are switched on for the whole world, as in `strategies`, and as there a world is built around its own
answer: every member has a home, with the CPUs and the devices that it asks for, sometimes one more or less.
So a fair share of the groups fits, a fair share just misses, and some fit only for those who take back what
they gave to the first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.oracle import devices
from tests.oracle.builders import RACK, Obj, expr, gang, node, pod, pod_group
from tests.oracle.device_builders import (
    claim_spec,
    claim_template,
    constraint,
    consumer,
    device,
    device_class,
    exactly,
    first_available,
    opaque,
    resource_claim,
    resource_slice,
    taint_rule,
    use,
    wish,
)
from tests.oracle.traits import Deck

GPU, NIC, NET = "gpu.example.com", "nic.example.com", "net.example.com"
FEATURES = (
    "links",
    "lists",
    "taints",
    "partitions",
    "shares",
    "network",
    "pools",
    "alternatives",
    "all",
    "admin",
    "conditions",
    "config",
    "running",
    "topology",
    "late",
)
THEMES: tuple[tuple[str, ...], ...] = (
    (),
    ("running",),
    ("links",),
    ("links", "lists"),
    ("links", "alternatives"),
    ("taints", "alternatives"),
    ("partitions",),
    ("partitions", "running"),
    ("shares",),
    ("shares", "running"),
    ("network", "running"),
    ("network", "links"),
    ("pools", "all"),
    ("all", "taints"),
    ("admin", "running"),
    ("topology", "links"),
    ("late", "links"),
    ("late", "network"),
    ("partitions", "network"),
    ("partitions", "shares"),
)
UNWELL = "example.com/unwell:NoSchedule"
WORN = "example.com/worn=yes:NoExecute"
SELECTORS: dict[str, Obj] = {
    f'device.attributes["{GPU}"].model == "a"': {"model": "a"},
    f'device.attributes["{GPU}"].model == "b"': {"model": "b"},
    'device.attributes["example.com"].numa == 0': {"example.com/numa": 0},
    'device.attributes["example.com"].numa == 1': {"example.com/numa": 1},
    f'device.attributes["{GPU}"].driver.compareTo(semver("1.3.0")) >= 0': {"driver": "v1.10.0"},
}
"""With the attributes of devices that match."""
PARTS = {"whole": 4, "half": 2, "quarter": 1}
"""How a card of four units is had."""
POLICIES: tuple[Obj, ...] = (
    {},
    {"default": "2", "validValues": ["2", "4", "8"]},
    {"default": "1", "validRange": {"min": "1", "max": "7", "step": "2"}},
    {"default": "3", "validRange": {"min": "3"}},
)


@dataclass(frozen=True)
class Member:
    """A pod of the group on its way: the claims that it uses, what they ask for, and where it would fit."""

    uses: list[Obj]
    specs: list[Obj]
    home: str


@st.composite
def device_worlds(
    draw: DrawFn, features: Sequence[str] = FEATURES, size: tuple[int, int] = (1, 4), groups: int = 1
) -> list[Obj]:
    """Worlds with groups of that size, which come in the order of their names."""
    theme = frozenset(draw(st.sampled_from(THEMES)))
    more = draw(st.frozensets(st.sampled_from(FEATURES), max_size=2))
    deck = Deck(draw, (theme | more).intersection(features))
    names = [f"n{i}" for i in range(deck.size(1, 4))]
    running = deck.number(1, 3) if deck.chance("running") else 0
    olds = [(deck.pick(names), _spec(deck)) for _ in range(running)]
    claims, pods, members = list[Obj](), list[Obj](), list[Member]()
    for name in "gh"[:groups]:
        drawn = _group(deck, name, names, deck.size(*size))
        claims, pods, members = claims + drawn[0], pods + drawn[1], members + drawn[2]
    objects = [_node(deck, name, i, members) for i, name in enumerate(names)] + _classes(deck)
    for name in names:
        specs = [spec for member in members if member.home == name for spec in member.specs]
        objects += _local(deck, name, [*specs, *(spec for home, spec in olds if home == name)])
    objects += _fabric(deck, len(members))
    if deck.rarely("taints"):
        objects.append(taint_rule("ruled", UNWELL, driver=GPU, pool=deck.pick(names)))
    for number, (home, spec) in enumerate(olds):
        objects += _running(objects, f"old-{number}", home, spec)
    objects += [*claims, *pods]
    if len(members) == groups or not deck.chance("late"):
        return objects
    first = next(obj for obj in pods if obj["kind"] == "Pod" and obj["metadata"]["name"] != "g-0")
    return devices.started(objects, first, members[0].home)


def _node(deck: Deck, name: str, number: int, members: list[Member]) -> Obj:
    cpus = sum(member.home == name for member in members) + deck.pick([0, 0, 0, 1, 1, -1])
    return node(name, f"{max(cpus, 0) * 1000 + 500}m", rack=f"r{number % 2}")


# ---- devices


def _classes(deck: Deck) -> list[Obj]:
    config = [opaque(GPU, mode={"turbo": "on"})] if deck.chance("config") else []
    found = [device_class("gpu", f'device.driver == "{GPU}"', config=config)]
    found.append(device_class("fast", f'device.driver == "{GPU}" && device.attributes["{GPU}"].model == "a"'))
    found.append(device_class("nic", f'device.driver == "{NIC}"'))
    return [*found, device_class("net", f'device.driver == "{NET}"')]


def _local(deck: Deck, name: str, specs: list[Obj]) -> list[Obj]:
    """What one node has: GPUs or a card in partitions, and NICs; in some order, what its people ask for."""
    gpus, nics = list[Obj](), list[Obj]()
    for spec in specs:
        hang = _links(deck) if "links" in deck.features else {}
        for request in spec["devices"]["requests"]:
            wanted = request.get("exactly") or deck.pick(request["firstAvailable"])
            for _ in range(wanted.get("count", 1)):
                near = hang if deck.number(0, 3) else {}
                if wanted["deviceClassName"] == "nic":
                    nics.append(device("", {**_links(deck), **near}))
                elif wanted["deviceClassName"] != "net":
                    gpus.append(_gpu(deck, wanted, near))
    found = [resource_slice(f"{name}-nics", NIC, _named(deck, "nic", nics), node=name)] if nics else []
    if "partitions" in deck.features:
        return found + _card(deck, name)
    gpus = gpus[: len(gpus) + deck.pick([0, 0, 0, -1])] + [
        _gpu(deck, {}, {}) for _ in range(deck.pick([0, 0, 1]))
    ]
    found += _in_pool(deck, name, _named(deck, "gpu", gpus))
    if deck.rarely("pools"):
        old = [_gpu(deck, {}, {}) | {"name": f"gpu-{i}"} for i in range(5)]
        found.append(resource_slice(f"{name}-old", GPU, old, node=name, generation=1))
    return found


def _named(deck: Deck, what: str, made: list[Obj]) -> list[Obj]:
    """In any order: whoever takes the first that will do may take what another one needs."""
    if not made:
        return []
    order = deck.draw(st.permutations(range(len(made))))
    return [made[place] | {"name": f"{what}-{i}"} for i, place in enumerate(order)]


def _in_pool(deck: Deck, name: str, gpus: list[Obj]) -> list[Obj]:
    """In the second generation of its pool, in one slice or two, of which one may be missing yet."""
    slices = 2 if deck.chance("pools") else 1
    parts = [gpus[number::slices] for number in range(slices)]
    found = [
        resource_slice(f"{name}-gpus-{number}", GPU, part, node=name, generation=2, of=slices)
        for number, part in enumerate(parts)
    ]
    return found[:1] if deck.rarely("pools") else found


def _gpu(deck: Deck, wanted: Obj, near: Obj) -> Obj:
    attributes = {
        "model": deck.pick("ab"),
        "driver": deck.pick(["v1.2.0", "v1.10.0"]),
        **_links(deck),
        **near,
    }
    for selector in wanted.get("selectors", ()):
        attributes |= SELECTORS.get(selector["cel"]["expression"], {})
    attributes |= {"model": "a"} if wanted.get("deviceClassName") == "fast" else {}
    shared = deck.chance("shares")
    policy = deck.pick(POLICIES) if shared else {}
    memory: Obj = {"value": deck.pick(["8"] if policy else ["4", "8"] if shared else ["40Gi", "80Gi"])}
    if policy:
        memory["requestPolicy"] = policy
    taints = [deck.pick([UNWELL, WORN, "example.com/note:None"])] if deck.rarely("taints") else []
    more: Obj = {}
    if deck.rarely("conditions"):
        more = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
        more |= {"bindsToNode": True} if deck.number(0, 1) else {}
    return device("", attributes, {"memory": memory}, taints=taints, shared=shared, **more)


def _links(deck: Deck) -> Obj:
    """Where a device hangs: a NUMA node, and links, of which it may have one, several or none."""
    numa = {"example.com/numa": deck.number(0, 1)}
    if "links" not in deck.features or deck.number(0, 5) == 5:
        return numa
    if deck.chance("lists"):
        return {**numa, "example.com/link": deck.pick([["l0"], ["l0", "l1"], ["l1", "l2"]])}
    return {**numa, "example.com/link": deck.pick(["l0", "l1"])}


def _card(deck: Deck, name: str) -> list[Obj]:
    """A card of four units that is had as a whole, in halves or in quarters."""
    parts = ["whole-0", "half-0", "half-1", "quarter-0", "quarter-1", "quarter-2"]
    made = []
    for part in deck.draw(st.permutations(parts)):
        model = part.partition("-")[0]
        attributes, memory = {"model": model, **_links(deck)}, {"memory": f"{PARTS[model] * 20}Gi"}
        counters = {"card": {"units": str(PARTS[model])}}
        made.append(device(part, attributes, memory, counters=counters, shared=deck.rarely("shares")))
    counters = {"card": {"units": deck.pick(["4", "4", "3", "5"])}}
    slices = [resource_slice(f"{name}-card", GPU, node=name, of=2, counters=counters)]
    return [*slices, resource_slice(f"{name}-parts", GPU, made[deck.number(0, 2) :], node=name, of=2)]


def _fabric(deck: Deck, size: int) -> list[Obj]:
    """Devices that several nodes reach: all, those of a rack, or each its own."""
    if "network" not in deck.features:
        return []
    units = {"wire": {"units": "1"}} if deck.chance("partitions") else None
    made = [device(f"net-{i}", _links(deck), counters=units) for i in range(deck.number(1, size + 1))]
    way, rack = deck.pick(["everywhere", "rack", "each"]), [expr(RACK, "In", "r0")]
    terms = {"nodeSelectorTerms": [{"matchExpressions": rack}]}
    reach: list[Obj] = [{"nodeName": "n0"}, {"allNodes": True}, {"nodeSelector": terms}]
    fields: dict[str, Obj] = {
        "everywhere": {"everywhere": True},
        "rack": {"nodes": rack},
        "each": {"each": True},
    }
    if way == "each":
        made = [one | deck.pick(reach) for one in made]
    if units is None:
        return [resource_slice("fabric", NET, made, **fields[way])]
    # What several nodes draw on together.
    total = {"wire": {"units": str(deck.number(1, len(made)))}}
    counters = resource_slice("wires", NET, everywhere=True, pool="fabric", of=2, counters=total)
    return [counters, resource_slice("fabric", NET, made, pool="fabric", of=2, **fields[way])]


# ---- claims


def _spec(deck: Deck, strict: bool = False) -> Obj:
    """One or two requests, and what they have to do with each other."""
    count = 2 if deck.number(0, 3) == 3 or deck.chance("links") else 1
    requests = [_request(deck, f"r{i}", strict) for i in range(count)]
    constraints = []
    if deck.chance("links"):
        choices = [request["name"] for request in requests]
        choices += [f"{r['name']}/a" for r in requests if "firstAvailable" in r]
        named = [] if deck.number(0, 2) else [deck.pick(choices)]
        attribute = deck.pick(["example.com/link", "example.com/link", "example.com/numa", f"{GPU}/model"])
        way = "match" if deck.number(0, 2) else "distinct"
        constraints.append(constraint(*named, **{way: attribute}))
    config = [opaque(GPU, deck.pick([[], ["r0"]]), size={"of": "it"})] if deck.chance("config") else []
    return claim_spec(*requests, constraints=constraints, config=config)


def _request(deck: Deck, name: str, strict: bool) -> Obj:
    if deck.chance("alternatives"):
        return first_available(name, *(_wish(deck, strict) for _ in range(deck.number(2, 3))))
    return exactly(name, _wish(deck, strict, lone=True))


def _wish(deck: Deck, strict: bool, lone: bool = False) -> Obj:
    parted = "partitions" in deck.features
    kinds = ["gpu", "gpu", "fast"] if strict and not parted else ["gpu"]
    kinds += ["nic"] if "links" in deck.features else []
    kinds += ["net"] if "network" in deck.features else []
    kind = deck.pick(kinds)
    tolerations = [deck.pick(["*", "example.com/unwell", "example.com/worn=yes"])]
    asked = {"memory": deck.pick(["1", "2", "3"])} if kind == "gpu" and deck.chance("shares") else None
    count = None if lone and deck.rarely("all") else deck.pick([1, 1, 1, 2])
    return wish(
        kind,
        count,
        *(_selectors(deck, strict) if kind == "gpu" else []),
        tolerations=tolerations if deck.chance("taints") else [],
        capacity=asked,
    )


def _selectors(deck: Deck, strict: bool) -> list[str]:
    if "partitions" in deck.features:
        return (
            [f'device.attributes["{GPU}"].model == "{deck.pick(list(PARTS))}"'] if deck.number(0, 3) else []
        )
    if not strict and deck.number(0, 4):
        return []
    choices = [*SELECTORS, f'device.capacity["{GPU}"].memory.compareTo(quantity("41Gi")) >= 0']
    choices += ['"link" in device.attributes["example.com"]'] if "links" in deck.features else []
    choices += ["device.allowMultipleAllocations"] if "shares" in deck.features else []
    return [deck.pick(choices)]


# ---- pods


def _running(objects: Sequence[Obj], name: str, place: str, spec: Obj) -> list[Obj]:
    """A pod that runs with what it was given, if it could be given anything."""
    there = next(obj for obj in objects if obj["kind"] == "Node" and obj["metadata"]["name"] == place)
    given = devices.first_allocation(objects, f"default/{name}", spec, there)
    if given is None:
        return []
    user = pod(name, "100m", node=place, spec={"resourceClaims": [use("held", name)]})
    return [user, resource_claim(name, spec, given, [consumer(user)])]


def _group(
    deck: Deck, name: str, names: Sequence[str], size: int
) -> tuple[list[Obj], list[Obj], list[Member]]:
    """A gang, or a lone pod, most with a claim of their own, some with one that they share: the claims and
    templates, the pods with their PodGroup, and what is to be there for them."""
    form = "lone" if size == 1 else deck.pick(["podgroup", "podgroup", "podgroup", "marks"])
    specs = [_spec(deck), _spec(deck, strict=True)]
    claims = [claim_template(f"{name}-t{i}", spec) for i, spec in enumerate(specs)]
    common, shared = _shared(deck, name, form, claims)
    close = bool(shared) and deck.number(0, 3) > 0
    anchor, stride = deck.number(0, len(names) - 1), 0 if close else deck.pick([1, 1, 2, 0])
    members = []
    for k in range(size):
        kind = deck.pick(["template", "template", "template", "named", "none"])
        # Mostly the choosy ones come last.
        turn = deck.pick([int(2 * k >= size), int(2 * k >= size), 0, 1])
        uses, own = ([], []) if kind == "none" else ([use("own", template=f"{name}-t{turn}")], [specs[turn]])
        if kind == "named":
            claims.append(resource_claim(f"{name}-c{k}", specs[turn]))
            uses = [use("own", f"{name}-c{k}")]
        if deck.rarely("admin"):
            watch = claim_spec(exactly("watch", wish("gpu", deck.pick([None, 1]), admin=True)))
            claims.append(resource_claim(f"{name}-admin{k}", watch))
            uses.append(use("admin", f"{name}-admin{k}"))
        joins = common if deck.number(0, 3) else []
        home = names[(anchor + k * stride) % len(names)]
        members.append(Member([*joins, *uses], [*own, *(shared if joins and k == 0 else [])], home))
    return claims, _members(deck, name, form, [member.uses for member in members], common), members


def _shared(deck: Deck, name: str, form: str, claims: list[Obj]) -> tuple[list[Obj], list[Obj]]:
    """What several members use: a claim by name, maybe one that somebody has, or one of the PodGroup."""
    way = deck.pick(["none", "none", "named", "held", "group", "group"])
    spec = _spec(deck)
    if way == "held" and "running" in deck.features:
        return [use("common", "old-0")], []
    if way == "named":
        claims.append(resource_claim(f"{name}-all", spec))
        return [use("common", f"{name}-all")], [spec]
    if way == "group" and form == "podgroup":
        claims.append(claim_template(f"{name}-shared", spec))
        return [use("common", template=f"{name}-shared")], [spec]
    return [], []


def _members(deck: Deck, name: str, form: str, members: list[list[Obj]], common: list[Obj]) -> list[Obj]:
    quorum = max(1, len(members) + deck.pick([0, 0, 0, -1]))
    fields: Obj = {"created": ord(name)}
    found: list[Obj] = []
    if form == "marks":
        fields["annotations"] = gang(name, quorum)
    if form == "podgroup":
        fields["group"] = name
        level = "rack" if deck.chance("topology") else None
        owned = {"resourceClaims": common} if common and deck.number(0, 3) else {}
        api = deck.pick(["v1beta1", "v1alpha2"])
        found.append(pod_group(name, quorum, level, api=api, spec=owned, created=ord(name)))
    for k, claims in enumerate(members):
        spec = {"resourceClaims": claims} if claims else {}
        found.append(pod(f"{name}-{k}", 1, index=k, spec=spec, **fields))
    return found
