"""Hard instances: a dozen members of several shapes on a dozen nodes with no room to spare.

Built backwards: the members are seated first, as the twist of the instance demands, and every node is cut to
exactly what sits on it, so that a placement exists and is hard to find. Half of them are then spoiled by one
small defect; whether that leaves another placement is for the integer program to say.
"""

from dataclasses import dataclass
from random import Random

from tests.oracle.builders import Obj, near, node, pod, pod_group, port, spread
from tests.oracle.traits import Fields, half_cpus

MEMBERS = NODES = 12
RESOURCES = ("cpu", "memory", "gpu")
TWISTS = (
    "plain",
    "apart on nodes",
    "apart in racks",
    "ports",
    "close to each other",
    "close to a lead",
    "level over racks",
    "level over nodes",
    "one rack",
    "one rack, apart on nodes",
    "close to a lead, apart on nodes",
)
DEFECTS = ("smaller node", "smaller node", "larger member", "lost label", "taint", "intruder")
Size = dict[str, int]


@dataclass
class Instance:
    """A cluster where one group waits. ``solution`` seats all its members; it is None if spoiled."""

    seed: int
    twist: str
    objects: list[Obj]
    solution: dict[str, str] | None


@dataclass
class Member:
    name: str
    shape: int
    size: Size
    home: int


def instance(seed: int) -> Instance:
    """The instance of that number, the same for ever."""
    rng = Random(seed)
    twist, racks = rng.choice(TWISTS), rng.choice([2, 3, 4])
    sizes = [_size(rng) for _ in range(rng.randint(2, 5))]
    members = _seat(rng, twist, racks, sizes)
    loads = [rng.choice([0, 0, 1, 2]) for _ in range(NODES)]
    rooms = [_room(rng, members, i, loads[i]) for i in range(NODES)]
    labels = [{"rack": f"r{i % racks}", "zone": f"z{i % racks % 2}"} for i in range(NODES)]
    fields: list[Fields] = [dict(each) for each in labels]
    extra: list[Obj] = []
    spoiled = rng.random() < 0.5
    if spoiled:
        for _ in range(rng.choice([1, 2])):
            extra += _spoil(rng, members, rooms, fields)
    nodes = [
        node(f"n{i}", half_cpus(r["cpu"]), f"{r['memory']}Gi", r["gpu"], **f)
        for i, (r, f) in enumerate(zip(rooms, fields, strict=True))
    ]
    running = [pod(f"old-{i}", half_cpus(load), node=f"n{i}") for i, load in enumerate(loads) if load]
    quorum = rng.choice([MEMBERS, MEMBERS, MEMBERS, MEMBERS - 1, MEMBERS - 2])
    group = pod_group("pg", quorum, "rack" if twist.startswith("one rack") else None, created=0)
    waiting = [_pod(member, twist) for member in members]
    solution = None if spoiled else {member.name: f"n{member.home}" for member in members}
    return Instance(seed, twist, [*nodes, *running, *extra, group, *waiting], solution)


def _size(rng: Random) -> Size:
    return {"cpu": rng.randint(1, 7), "memory": rng.choice([1, 1, 2, 3, 5]), "gpu": rng.choice([0, 0, 1, 2])}


def _seat(rng: Random, twist: str, racks: int, sizes: list[Size]) -> list[Member]:
    """Homes for the members, as the twist allows. Shape 0 is the particular one; its first may lead."""
    shapes = [rng.randrange(len(sizes)) for _ in range(MEMBERS)]
    shapes[0] = 0
    pool = rng.sample(range(NODES), rng.randint(5, NODES))
    rack = rng.randrange(racks)
    ranks = rng.sample(range(racks), racks)
    inside = [i for i in range(NODES) if i % racks == rack]
    if "apart" in twist:
        most = racks if twist == "apart in racks" else len(inside)
        shapes = [s if shapes[:i].count(0) < most else max(s, 1) for i, s in enumerate(shapes)]
    members: list[Member] = []
    for i, shape in enumerate(shapes):
        taken = [m.home for m in members if m.shape == shape == 0]
        options = _options(twist, i, shape, racks, pool, inside, ranks, taken)
        members.append(Member(f"m-{i}", shape, dict(sizes[shape]), rng.choice(options)))
    return members


def _options(
    twist: str,
    i: int,
    shape: int,
    racks: int,
    pool: list[int],
    inside: list[int],
    ranks: list[int],
    taken: list[int],
) -> list[int]:
    """The nodes that may be the home of member ``i``, given where others of the particular shape went."""
    options = list(pool)
    if twist.startswith("one rack") or (twist.startswith("close to") and shape == 0):
        options = inside
    if twist == "level over racks":
        options = [n for n in range(NODES) if n % racks == ranks[i % racks]]
    if twist == "level over nodes":
        options = [i]
    if shape == 0 and ("apart on nodes" in twist or twist == "ports"):
        options = [n for n in options if n not in taken] or [n for n in range(NODES) if n not in taken]
    if shape == 0 and twist == "apart in racks":
        options = [n for n in range(NODES) if n % racks not in {t % racks for t in taken}]
    return options


def _room(rng: Random, members: list[Member], index: int, load: int) -> Size:
    """Exactly what lives there; where nobody lives, plenty of one thing and too little of another."""
    lodgers = [member.size for member in members if member.home == index]
    if lodgers:
        room = {name: sum(size[name] for size in lodgers) for name in RESOURCES}
    else:
        smallest = min(member.size["cpu"] for member in members)
        room = {
            "cpu": rng.choice([0, smallest - 1, 9]),
            "memory": rng.choice([0, 1, 6]),
            "gpu": rng.choice([0, 0, 2]),
        }
    room["cpu"] += load
    return room


def _spoil(rng: Random, members: list[Member], rooms: list[Size], fields: list[Fields]) -> list[Obj]:
    """One defect, somewhere that matters."""
    victim = rng.choice(members)
    match rng.choice(DEFECTS):
        case "smaller node":
            name = rng.choice([name for name in RESOURCES if victim.size[name]])
            rooms[victim.home][name] = max(0, rooms[victim.home][name] - 1)
        case "larger member":
            victim.size["cpu"] += 1
        case "lost label":
            fields[victim.home]["rack"] = None
        case "taint":
            fields[victim.home]["taints"] = ["reserved=yes:NoSchedule"]
        case "intruder":
            labels = {"app": "train", "role": "kind-0"}
            return [
                pod(
                    f"intruder-{rng.randrange(10**6)}",
                    "0",
                    node=f"n{victim.home}",
                    labels=labels,
                    ports=[port(7000)],
                )
            ]
    return []


def _pod(member: Member, twist: str) -> Obj:
    size, particular = member.size, member.shape == 0
    own = {"app": "train", "role": f"kind-{member.shape}"}
    fields: Fields = {}
    if particular and "apart on nodes" in twist:
        fields["anti_affinity"] = [near("hostname", {"role": "kind-0"})]
    if particular and twist == "apart in racks":
        fields["anti_affinity"] = [near("rack", {"role": "kind-0"})]
    if particular and twist == "ports":
        fields["ports"] = [port(7000)]
    if particular and twist == "close to each other":
        fields["affinity"] = [near("rack", {"role": "kind-0"})]
    if twist.startswith("close to a lead"):
        if member.name == "m-0":
            own["lead"] = "yes"
        elif particular:
            fields["affinity"] = [near("rack", {"lead": "yes"})]
    if twist.startswith("level"):
        fields["spread"] = [spread("rack" if "racks" in twist else "hostname", {"app": "train"})]
    amounts: Fields = {"cpu": half_cpus(size["cpu"]), "memory": f"{size['memory']}Gi", "gpu": size["gpu"]}
    index = int(member.name.removeprefix("m-"))
    return pod(member.name, **amounts, group="pg", index=index, labels=own, created=0, **fields)
