"""The dashboard and the alert rules: valid PromQL, over metrics and labels that the scheduler serves."""

import json
import re
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client.core import Metric

from maitred.controllers.scheduling.capacity_gauges import families
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.queue_gauges import queue_families
from maitred.explain.capacity.document import Capacity
from maitred.explain.queues.answer import Queues
from tests.docs.console import ROOT

MONITORING = ROOT / "deploy" / "monitoring"
RULES = yaml.safe_load((MONITORING / "rules.yaml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [
    *((rule["alert"], rule["expr"]) for rule in RULES),
    *((panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]),
]
_SUFFIX = re.compile(r"_(total|bucket|count|sum)$")
_LABEL = re.compile(r"\{\{ *(?:\$labels\.)?(\w+) *\}\}")


def served() -> dict[str, Metric]:
    metrics = [*Metrics().registry.collect(), *families(Capacity()), *queue_families(Queues())]
    return {metric.name: metric for metric in metrics}


def selectors(expression: Any) -> list[Any]:
    """Every selector of series in a parsed query."""
    if isinstance(expression, promql_parser.VectorSelector):
        return [expression]
    parts = [getattr(expression, name, None) for name in ("expr", "lhs", "rhs", "vector_selector")]
    parts += getattr(expression, "args", None) or []
    return [selector for part in parts if part is not None for selector in selectors(part)]


@pytest.mark.parametrize(("title", "query"), QUERIES, ids=[title for title, _ in QUERIES])
def test_a_query_is_valid_and_over_metrics_that_exist(title: str, query: str) -> None:
    known = served()
    found = selectors(promql_parser.parse(query))
    assert found, query
    for selector in found:
        assert _SUFFIX.sub("", selector.name) in known, f"{title}: nobody serves {selector.name}"


def test_every_gauge_of_the_survey_is_on_the_dashboard_or_in_a_rule() -> None:
    queries = " ".join(query for _, query in QUERIES)
    seldom = {"maitred_constraint_groups", "maitred_constraint_devices", "maitred_constraint_waited_hours"}
    gauges = {metric.name for metric in families(Capacity())} - seldom - {"maitred_incomplete_groups"}
    assert {name for name in gauges if name not in queries} == set()


def test_panels_have_ids_of_their_own_and_do_not_lie_on_each_other() -> None:
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))


def test_every_alert_says_what_to_do() -> None:
    for rule in RULES:
        assert set(rule["annotations"]) == {"summary", "help"}, rule["alert"]
        assert rule["labels"]["severity"] in ("info", "warning", "critical")
