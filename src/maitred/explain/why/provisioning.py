"""What an autoscaler was asked for a group that lacks nodes, and what came of it; or why it is not asked."""

from collections.abc import Iterator

from maitred.cluster.snapshot import GroupView
from maitred.decide.blockers import names_shown
from maitred.decide.holding.provisioned import provisioned
from maitred.decide.provisioning import asks_at, lacks_only_room, why_not
from maitred.explain.situation import Situation
from maitred.model.plan import GroupVerdict
from maitred.model.provisioning import OVER, Answer, answer_of, asked_at, name_of
from maitred.model.words import counted, moment

WORDS: dict[Answer, str] = {
    "Asked": "the autoscaler has not answered yet",
    "Accepted": "the autoscaler has accepted it",
    "Provisioned": "the autoscaler says that the nodes are there",
    "Failed": "the autoscaler could not do it",
    "BookingExpired": "the autoscaler keeps the nodes no longer",
    "CapacityRevoked": "the autoscaler has taken the nodes back",
}
AGAIN = "it is not asked again; delete the request to have it asked once more"


def node_words(situation: Situation, view: GroupView, verdict: GroupVerdict) -> Iterator[str]:
    if not situation.policy.provisioning.class_name:
        return
    if view.group.key in situation.snapshot.provisioning:
        yield _asked(situation, view)
        yield from _kept(situation, view)
    elif lacks_only_room(verdict):
        reason, at = why_not(view, situation.snapshot), asks_at(view, situation.policy)
        if reason:
            yield f"no nodes are asked for: {reason}"
        elif at > situation.now.timestamp() * 1000:
            yield f"an autoscaler is asked for nodes at {moment(-(-at // 1000))}, if it still waits then"


def _asked(situation: Situation, view: GroupView) -> str:
    request = situation.snapshot.provisioning[view.group.key]
    answer, message = answer_of(request)
    at = asked_at(request)
    since = "" if at is None else f" at {moment(at // 1000)}"
    said = f": {message.rstrip('.')}" if message else ""
    what = f"nodes were asked for{since} (ProvisioningRequest {name_of(view.group.key)})"
    return f"{what}; {WORDS[answer]}{said}" + (f"; {AGAIN}" if answer in OVER else "")


def _kept(situation: Situation, view: GroupView) -> Iterator[str]:
    snapshot, now = situation.snapshot, round(situation.now.timestamp() * 1000)
    for one in provisioned(snapshot, situation.policy, now):
        if one.group == view.group.key:
            names = sorted(snapshot.nodes.names[row] for row in one.rows.tolist())
            verb = "has come and is" if len(names) == 1 else "have come and are"
            kept = f"{counted(len(names), 'node')} ({names_shown(names)}) {verb} kept for it"
            yield f"{kept} until {moment(one.until // 1000)}"
