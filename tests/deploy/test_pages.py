"""Pages that operators rely on name what is there, all of it, and nothing else."""

import re

from prometheus_client.metrics import MetricWrapperBase

from maitred.controllers.scheduling.metrics import Metrics
from maitred.kube.outcomes import Why
from tests.docs.console import ROOT

PAGE = (ROOT / "docs/metrics.md").read_text()
Metric = tuple[str, str, tuple[str, ...]]


def test_the_metrics_page_has_every_metric_with_its_type_and_labels() -> None:
    rows = re.findall(r"^\| `(maitred_\w+)` \| (\w+) \| (.*?)\| ", PAGE, re.MULTILINE)
    documented = [(name, kind, tuple(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows]
    served = [
        described(metric) for metric in vars(Metrics()).values() if isinstance(metric, MetricWrapperBase)
    ]
    assert documented == served


def described(metric: MetricWrapperBase) -> Metric:
    [family] = metric.describe()
    name = f"{family.name}_total" if family.type == "counter" else family.name
    return name, family.type, tuple(metric._labelnames)


def test_the_metrics_page_has_every_reason_for_a_refused_bind() -> None:
    sentence = PAGE.partition("The reasons of refused binds are ")[2].partition(".\n")[0]
    # A budget can refuse an eviction only.
    assert re.findall(r"`(\w+)`", sentence) == [why.value for why in Why if why is not Why.BUDGET]
