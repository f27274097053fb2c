"""Documents in, a Policy out, with what could not be taken over. The Policy is one that can be in force."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from maitred.explain.importing.queues.draft import Draft
from maitred.explain.importing.queues.kai import import_kai
from maitred.explain.importing.queues.kueue import import_kueue
from maitred.explain.importing.queues.settle import settle
from maitred.explain.importing.queues.volcano import import_volcano
from maitred.model.manifest import Document, InputError
from maitred.model.manifest.errors import FieldError
from maitred.model.manifest.queue_checks import check_queues, check_tree
from maitred.model.manifest.settings import check_policy
from maitred.model.owners import api_group
from maitred.model.policy import API_VERSION, Policy
from maitred.model.queues import Queue

KUEUE, VOLCANO, KAI = "kueue.x-k8s.io", "scheduling.volcano.sh", "scheduling.run.ai"


@dataclass(frozen=True)
class ImportedQueues:
    policy: dict[str, Any]
    """As it is written, without what is the default."""
    notes: tuple[str, ...]


def import_queues(documents: Sequence[Document], rules: Policy) -> ImportedQueues:
    """`rules` say which labels hold models."""
    draft = Draft()
    by_group: dict[str, list[Document]] = {KUEUE: [], VOLCANO: [], KAI: []}
    for document in documents:
        group = api_group(document.api_version)
        if group in by_group and (group == KUEUE or document.kind == "Queue"):
            by_group[group].append(document)
    import_kueue(by_group[KUEUE], rules.devices.model_labels, draft)
    import_volcano(by_group[VOLCANO], draft)
    import_kai(by_group[KAI], draft)
    if not draft.queues:
        what = "there are no ClusterQueues of Kueue, and no Queues of Volcano or KAI"
        raise InputError("", "", "", what)
    return ImportedQueues(_policy(draft), draft.notes)


def _policy(draft: Draft) -> dict[str, Any]:
    try:
        check_tree([Queue(one.name, one.parent) for one in draft.queues.values()])
        settle(draft)
        plain: dict[str, Any] = {
            "apiVersion": API_VERSION,
            "kind": "Policy",
            **({"fairShare": {"reclaim": True}} if draft.by_share else {}),
            "queues": [one.plain() for one in draft.queues.values()],
        }
        made = msgspec.convert(plain, Policy)
        check_queues(made.queues, made.fair_share, made.order)
        check_policy(made)
    except FieldError as problem:
        raise InputError("", "", problem.field, f"{problem.what}, in the policy that it would be") from None
    return plain
