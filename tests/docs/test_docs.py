"""What the documentation says is so: commands print what it shows, examples get the verdicts they promise."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from maitred.explain.audit.answer import Audit
from maitred.explain.proposal import answer as proposal
from maitred.explain.topology import TopologyReport
from maitred.model import plan as model
from maitred.model.categories import CATEGORIES
from maitred.model.policy import Policy
from maitred.model.setting import Setting
from maitred.sandbox.apiserver.builtin import BUILTIN
from maitred.simulate.scenario import document as scenario
from tests.docs.console import ROOT, Block, agrees, blocks, has_evening, pages, replay, run

EXAMPLES = ROOT / "examples"
BLOCKS = [block for page in pages() if not has_evening(page) for block in blocks(page)]

_EXPECTED = re.compile(r"^#   (\S+/\S+) +([A-Z]\w+)(?:, ([A-Z]\w+))?$", re.MULTILINE)
_COMMAND = re.compile(r"^#   maitred (decide .*)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_commands_print_what_the_page_shows(block: Block, tmp_path: Path) -> None:
    for step, text in replay(block, tmp_path):
        assert agrees(step.shown, text), f"{block}: $ {step.command}\n{text}"


# -- examples ------------------------------------------------------------------------------------------


def promises() -> list[Path]:
    """Files whose header says what comes out."""
    return [file for file in sorted(EXAMPLES.rglob("*.yaml")) if "\n# Expect:\n" in file.read_text()]


@pytest.mark.parametrize("file", promises(), ids=lambda file: str(file.relative_to(EXAMPLES)))
def test_an_example_gets_the_verdicts_that_it_promises(file: Path, tmp_path: Path) -> None:
    header = file.read_text().partition("\napiVersion:")[0]
    (command,) = _COMMAND.findall(header)
    expected = {group: (verdict, category) for group, verdict, category in _EXPECTED.findall(header)}
    (tmp_path / "examples").symlink_to(EXAMPLES)
    status, text = run([*command.split(), "-o", "json", ">", "plan.json"], tmp_path)
    assert (status, text) == (0, "")
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert {g["group"]: (g["verdict"], first_category(g)) for g in plan["groups"]} == expected
    status, text = run(["verify", *command.split()[1:], "--plan", "plan.json"], tmp_path)
    warned = [line for line in text.splitlines() if "has no pods in the input: decided as if" in line]
    assert (status, text.splitlines()) == (0, [*warned, "Every law holds."])


def first_category(group: dict[str, Any]) -> str:
    return next((blocker["category"] for blocker in group["blockers"]), "")


def test_every_example_is_in_a_file_that_is_run() -> None:
    run_here = {file.parent for file in promises()}
    folders = {file.parent for file in EXAMPLES.rglob("*") if file.is_file()}
    elsewhere = {
        EXAMPLES / name
        for name in (
            "audit",
            "capacity",
            "defrag",
            "devices/claims",
            "drain",
            "health",
            "import-queues",
            "policies",
            "queues",
            "scenarios",
            "starting",
            "stories",
            "tutorial",
            "worlds",
        )
    } | {*(EXAMPLES / "import").iterdir(), EXAMPLES / "workloads/no-runtime"}
    assert folders - run_here == elsewhere, (
        "scenarios, stories, worlds, claims and the tutorial have their own tests"
    )
    assert {file.suffix for file in EXAMPLES.rglob("*") if file.is_file()} == {".yaml", ".csv"}


@pytest.mark.parametrize("file", sorted((EXAMPLES / "policies").iterdir()), ids=lambda file: file.name)
def test_the_policies_are_valid(file: Path, tmp_path: Path) -> None:
    assert run(["policy", "check", str(file)], tmp_path)[0] == 0


# -- links ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(_CODE.sub("", page.read_text())):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{page.name}: {link}"
        assert not anchor or anchor in anchors(file), f"{page.name}: {link}"


def anchors(page: Path) -> set[str]:
    """The names that headings get: lower case, dashes for spaces, no punctuation."""
    headings = _HEADING.findall(_CODE.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


# -- contracts -----------------------------------------------------------------------------------------


def section(page: str, title: str, level: str = "##") -> str:
    text = (ROOT / "docs" / page).read_text()
    found = re.search(rf"^{level} {re.escape(title)}\n(.*?)(?=^##|\Z)", text, re.DOTALL | re.MULTILINE)
    assert found, f"{page} has no section {title}"
    return found[1]


def first_column(text: str) -> set[str]:
    """What tables have in their first column in code."""
    return set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))


def test_the_policy_page_has_every_field_and_no_other() -> None:
    documented = first_column((ROOT / "docs/policy.md").read_text())
    assert documented == set(fields(inspect.type_info(Policy), ""))


def fields(found: inspect.Type, path: str) -> Iterator[str]:
    """Paths of all settings, down to what is not a setting of ours."""
    match found:
        case inspect.StructType() if issubclass(found.cls, Setting):
            for field in found.fields:
                yield from fields(field.type, f"{path}.{field.encode_name}".removeprefix("."))
        case inspect.VarTupleType() if is_setting(found.item_type):
            yield from fields(found.item_type, f"{path}[]")
        case inspect.UnionType() if any(map(is_setting, found.types)):
            for part in filter(is_setting, found.types):
                yield from fields(part, path)
        case _:
            yield path


def is_setting(found: inspect.Type) -> bool:
    return isinstance(found, inspect.StructType) and issubclass(found.cls, Setting)


def test_the_blockers_page_has_every_category_and_no_other() -> None:
    text = (ROOT / "docs/blockers.md").read_text()
    documented = re.findall(r"^## (\w+)$", text, re.MULTILINE)
    assert sorted(documented) == sorted(CATEGORIES)


@pytest.mark.parametrize("file", sorted((EXAMPLES / "blockers").iterdir()), ids=lambda file: file.stem)
def test_the_blockers_page_has_the_details_of_its_examples(file: Path, tmp_path: Path) -> None:
    run(["decide", "-f", str(file), "-o", "json", ">", "plan.json"], tmp_path)
    plan = json.loads((tmp_path / "plan.json").read_text())
    for blocker in (blocker for group in plan["groups"] for blocker in group["blockers"]):
        documented = first_column(section("blockers.md", blocker["category"]))
        assert blocker["detail"].keys() <= documented, blocker


@pytest.mark.parametrize(
    ("title", "struct"),
    [
        ("Plan", model.Plan),
        ("Bind", model.Bind),
        ("Eviction", model.Eviction),
        ("Receipt", model.Receipt),
        ("Departure", model.Departure),
        ("Toll", model.Toll),
        ("Alternative", model.Alternative),
        ("Volume", model.VolumeChoice),
        ("Claim", model.ClaimAllocation),
        ("ClaimToMake", model.ClaimToMake),
        ("Taint", model.NodeTaint),
        ("Hold", model.KeptRoom),
        ("Drain", model.DrainDecision),
        ("Deadline", model.DeadlineToSet),
        ("NodeRequest", model.NodeRequest),
        ("Group", model.GroupVerdict),
        ("Blocker", model.Blocker),
        ("Remedy", model.Remedy),
    ],
)
def test_the_plan_page_has_every_field_and_no_other(title: str, struct: type[msgspec.Struct]) -> None:
    names = {field.encode_name for field in msgspec.structs.fields(struct)}
    assert first_column(section("plan.md", title)) == names


@pytest.mark.parametrize(
    ("title", "struct"),
    [
        ("Proposals", proposal.Proposals),
        ("Proposal", proposal.Proposal),
        ("Where", proposal.Where),
        ("Cost", proposal.CostToOthers),
        ("Offer", proposal.Offer),
    ],
)
def test_the_planning_page_has_every_field_and_no_other(title: str, struct: type[msgspec.Struct]) -> None:
    names = {field.encode_name for field in msgspec.structs.fields(struct)}
    assert first_column(section("planning.md", title, "###")) == names


@pytest.mark.parametrize(
    ("title", "structs"),
    [
        ("Scenario", [scenario.Scenario]),
        ("Cluster", [scenario.ScenarioCluster, scenario.ClusterTrace]),
        ("Workload", [scenario.JobSource]),
        ("Arrivals", [scenario.Arrivals]),
        ("Traces", [scenario.Trace]),
        ("Faults", [scenario.Faulty]),
    ],
)
def test_the_simulate_page_has_every_field_of_a_scenario(
    title: str, structs: list[type[msgspec.Struct]]
) -> None:
    names = {field.encode_name for struct in structs for field in msgspec.structs.fields(struct)}
    assert first_column(section("simulate.md", title, "###")) == names


def test_the_simulate_page_has_every_field_of_a_reaction() -> None:
    names = {field.encode_name for field in msgspec.structs.fields(scenario.WrittenReaction)}
    assert first_column(section("simulate.md", "Reaction", "####")) == names


def test_the_compatibility_page_has_every_kind_that_the_sandbox_serves() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", section("compatibility.md", "The sandbox"), re.MULTILINE)
    documented = {(version, name) for version, names in rows for name in names.split(", ")}
    assert documented == {(f"{kind.group}/{kind.version}".lstrip("/"), kind.name) for kind in BUILTIN}


def test_the_topology_page_has_every_field_and_no_other() -> None:
    names = {field.encode_name for field in msgspec.structs.fields(TopologyReport)}
    assert first_column(section("topology.md", "See what maitred sees")) == names


def test_the_audit_page_has_every_field_and_no_other() -> None:
    names = {field.encode_name for field in msgspec.structs.fields(Audit)}
    assert first_column(section("audit.md", "Output")) == names


@pytest.mark.parametrize(
    "verb",
    [
        "audit",
        "plan",
        "decide",
        "import",
        "verify",
        "policy check",
        "topology",
        pytest.param("simulate", marks=pytest.mark.slow),
    ],
)
def test_the_examples_of_the_help_run(verb: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    status, shown = run([*verb.split(), "--help"], tmp_path)
    commands = [line.split()[1:] for line in shown.splitlines() if line.startswith("    maitred ")]
    assert status == 0
    assert commands
    for command in commands:
        assert run(command, tmp_path)[0] == 0, command
