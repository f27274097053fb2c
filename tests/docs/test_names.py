"""One word for one thing: no two classes of one name that are different things."""

import ast
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.docs.console import ROOT

SOURCE = ROOT / "src/maitred"
STANDALONE = (SOURCE / "verify", SOURCE / "sandbox/apiserver")
"""They share no code with the rest on purpose, so both write down what the rest knows a second time. They
answer for their own names only."""
KUBERNETES_NOUNS = """
    BudgetStatus Container CronJob Job JobSpec JobStatus LeaseSpec Namespace Node NodeStatus Owner Pod
    PodGroup PodSpec PodStatus ResponseKind Toleration Workload WorkloadSpec
"""
"""Objects of the API and their parts. Each module that reads one declares the fields that it looks at."""


def shared_names(files: Iterable[Path]) -> frozenset[str]:
    names = Counter(
        node.name
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    return frozenset(name for name, count in names.items() if count > 1)


def test_only_kubernetes_nouns_name_more_than_one_class() -> None:
    """A noun that no longer does leaves the list."""
    files = (file for file in SOURCE.rglob("*.py") if not any(map(file.is_relative_to, STANDALONE)))
    assert shared_names(files) == frozenset(KUBERNETES_NOUNS.split())


@pytest.mark.parametrize("package", STANDALONE, ids=lambda package: package.name)
def test_packages_that_stand_alone_have_no_name_twice(package: Path) -> None:
    assert shared_names(package.rglob("*.py")) == frozenset()
