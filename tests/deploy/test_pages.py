"""Pages that operators rely on name what is there, all of it, and nothing else."""

import ast
import re
from collections.abc import Iterator

from click.testing import CliRunner
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.metrics import MetricWrapperBase

from maitred.cli import cli
from maitred.controllers.scheduling.capacity_gauges import families
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.queue_gauges import queue_families
from maitred.explain.capacity.document import Capacity
from maitred.explain.queues.answer import Queues
from maitred.kube.outcomes import RefusalReason
from maitred.model.kinds import DUMPED
from tests.docs.console import ROOT, pages

PAGE = (ROOT / "docs/metrics.md").read_text()
LOGGERS = {"log", "_log"}
LEVELS = {"debug", "info", "warning", "error"}
Metric = tuple[str, str, tuple[str, ...]]
LogLine = tuple[str, str]

_LOG_ROW = re.compile(r"^\| (`.*?`) \| (\w+) \| ", re.MULTILINE)
_DIFFERS = re.compile(r"(?:\.\.\.|%[.\d]*[a-z]|\b[A-Z][A-Z-]*\b)(?:/(?:%[a-z]|[A-Z]+\b))?")
_DUMP = re.compile(r"\bnodes,pods,[\w,]+")


def test_the_metrics_page_has_every_metric_with_its_type_and_labels() -> None:
    rows = re.findall(r"^\| `(maitred_\w+)` \| (\w+) \| (.*?)\| ", PAGE, re.MULTILINE)
    documented = [(name, kind, tuple(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows]
    counted = [
        described(metric) for metric in vars(Metrics()).values() if isinstance(metric, MetricWrapperBase)
    ]
    gauges = (*families(Capacity()), *queue_families(Queues()))
    surveyed = [(metric.name, metric.type, labels_of(metric)) for metric in gauges]
    assert documented == counted + surveyed


def labels_of(family: Family) -> tuple[str, ...]:
    return tuple(family._labelnames) if isinstance(family, GaugeMetricFamily) else ()


def described(metric: MetricWrapperBase) -> Metric:
    [family] = metric.describe()
    name = f"{family.name}_total" if family.type == "counter" else family.name
    return name, family.type, tuple(metric._labelnames)


def test_the_metrics_page_has_every_reason_for_a_refused_bind() -> None:
    sentence = PAGE.partition("The reasons of refused binds are ")[2].partition(".\n")[0]
    # Of evictions, of conditions and of suspensions.
    others = (RefusalReason.BUDGET, RefusalReason.STALE, RefusalReason.UNRECORDED)
    assert re.findall(r"`(\w+)`", sentence) == [why.value for why in RefusalReason if why not in others]


def test_the_log_lines_of_the_operations_page_are_logged_at_the_level_that_it_says() -> None:
    table = (ROOT / "docs/operations.md").read_text().partition("## Log lines\n")[2].partition("\n## ")[0]
    quoted = [
        (line, level) for lines, level in _LOG_ROW.findall(table) for line in re.findall(r"`(.*?)`", lines)
    ]
    logged = set(log_lines())
    assert quoted
    assert [row for row in quoted if not is_logged(row, logged)] == []


def log_lines() -> Iterator[LogLine]:
    """What the scheduler may log, what differs replaced, and at which level."""
    for file in sorted((ROOT / "src/maitred").rglob("*.py")):
        module = ast.parse(file.read_text())
        named = constants(module)
        for node in ast.walk(module):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=logger), attr=level), args=[line, *_]) if (
                    logger in LOGGERS and level in LEVELS
                ):
                    text = named[line.id] if isinstance(line, ast.Name) else ast.literal_eval(line)
                    yield _DIFFERS.sub("*", text), level


def constants(module: ast.Module) -> dict[str, str]:
    """The strings that a module gives names to."""
    return {
        name.id: value.value
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(value := node.value, ast.Constant)
        for name in node.targets
        if isinstance(name, ast.Name) and isinstance(value.value, str)
    }


def is_logged(quoted: LogLine, logged: set[LogLine]) -> bool:
    """A line that is quoted with `...` at its end may go on in any way."""
    line, level = quoted
    if not line.endswith("..."):
        return (_DIFFERS.sub("*", line), level) in logged
    beginning = _DIFFERS.sub("*", line.removesuffix("..."))
    return any(level == at and text.startswith(beginning) for text, at in logged)


def test_a_cluster_is_dumped_in_the_same_way_everywhere() -> None:
    texts = [page.read_text() for page in pages()]
    texts += [CliRunner().invoke(cli, [*verb, "--help"]).stdout for verb in (["decide"], ["sandbox", "load"])]
    # Only what evicts, or weighs it, has a use for budgets and Jobs; the sandbox has no drivers that attach.
    spare = ",(?:pdb|jobs|csidrivers|volumeattachments)"
    dumps = [dump for text in texts for dump in _DUMP.findall(text)]
    assert DUMPED in dumps
    assert {re.sub(spare, "", dump) for dump in dumps} == {re.sub(spare, "", DUMPED)}
