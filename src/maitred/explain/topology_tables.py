"""The topology as lines for people: levels, the tree of domains with what is free, and the problems."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from maitred.explain.tables import Cell, aligned, header
from maitred.explain.topology import Domain, LevelCandidate, TopologyReport, some
from maitred.model.quantity import CPU, MEMORY, amount
from maitred.model.words import counted

INDENT = "  "
GIBI = 2**30


def topology_lines(topology: TopologyReport, width: int | None = None) -> Iterator[Text]:
    if not topology.nodes:
        yield Text("There are no nodes.")
        return
    if topology.levels:
        yield from level_table(topology, width)
        yield from domain_table(topology, width)
        yield from problem_lines(topology, width)
    else:
        yield from no_levels(topology.candidates, width)
    yield Text()
    yield Text(totals(topology))


def level_table(topology: TopologyReport, width: int | None) -> Iterator[Text]:
    rows: list[Sequence[Cell]] = [header("LEVEL", "KEY", "DOMAINS", "LARGEST FREE")]
    for level in topology.levels:
        largest = level.largest_free
        free = "" if largest is None else f"{largest.domain}: {amounts(largest.free)}"
        rows.append((level.name, level.key, str(level.domains), free))
    return aligned(rows, width)


def domain_table(topology: TopologyReport, width: int | None) -> Iterator[Text]:
    if not topology.domains:
        return
    resources = list(dict.fromkeys(name for _, one in walk(topology.domains) for name in one.allocatable))
    rows: list[Sequence[Cell]] = [header("DOMAIN", "NODES", *(f"FREE {name}" for name in resources))]
    rows += [domain_row(depth, domain, resources) for depth, domain in walk(topology.domains)]
    yield Text()
    yield from aligned(rows, width)


def walk(domains: Sequence[Domain], depth: int = 0) -> Iterator[tuple[int, Domain]]:
    for domain in domains:
        yield depth, domain
        yield from walk(domain.domains, depth + 1)


def domain_row(depth: int, domain: Domain, resources: Sequence[str]) -> Sequence[Cell]:
    name = f"no {domain.level}" if domain.domain is None else f"{domain.level} {domain.domain}"
    nodes = str(domain.nodes) if not domain.unwell else f"{domain.nodes} ({domain.unwell} unhealthy)"
    free = [
        f"{short(resource, domain.free.get(resource, '0'))} of {short(resource, have)}{ill(domain, resource)}"
        for resource, have in ((name, domain.allocatable.get(name, "0")) for name in resources)
    ]
    return (INDENT * depth + name, nodes, *free)


def ill(domain: Domain, resource: str) -> str:
    count = domain.unwell_devices.get(resource, 0)
    return f", {count} unwell" if count else ""


def problem_lines(topology: TopologyReport, width: int | None) -> Iterator[Text]:
    if not topology.problems:
        return
    yield Text()
    yield Text("Problems", "bold")
    rows: list[Sequence[Cell]] = []
    for problem in topology.problems:
        everyone = len(problem.nodes) == topology.nodes
        who = f": {some(problem.nodes)}" if problem.kind == "Unlabelled" and not everyone else ""
        rows.append(("", Text(problem.kind, "yellow"), problem.message + who))
    yield from aligned(rows, width)


def no_levels(candidates: Sequence[LevelCandidate], width: int | None) -> Iterator[Text]:
    yield Text("No level of the topology is known: the policy names none, and no waiting group asks for one.")
    if not candidates:
        yield Text("No label of the nodes looks like one either.")
        return
    yield Text("These labels of the nodes look like levels; name them in the policy under topology.levels:")
    yield Text()
    rows: list[Sequence[Cell]] = [header("KEY", "DOMAINS", "NODES")]
    rows += [(one.key, str(one.domains), str(one.nodes)) for one in candidates]
    yield from aligned(rows, width)


def totals(topology: TopologyReport) -> str:
    parts = [counted(topology.nodes, "node")]
    if topology.unwell:
        parts.append(f"{topology.unwell} of them cordoned or unhealthy; their room does not count as free")
    if topology.levels:
        found = counted(len(topology.problems), "problem") if topology.problems else "no problems"
        parts.append(f"{counted(len(topology.levels), 'level')}, {found}")
    return "; ".join(parts) + "."


def amounts(of: dict[str, str]) -> str:
    return ", ".join(f"{short(resource, quantity)} {resource}" for resource, quantity in of.items())


def short(resource: str, quantity: str) -> str:
    """A sum as one reads it: whole cores and Gi, with a decimal where there is one."""
    if resource == CPU:
        return f"{amount(CPU, quantity) / 1000:.1f}".removesuffix(".0")
    if resource == MEMORY:
        return f"{amount(MEMORY, quantity) / GIBI:.1f}".removesuffix(".0") + "Gi"
    return quantity
