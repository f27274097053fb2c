"""Who is told what of queues by the scheduler."""

import msgspec

from maitred.controllers.answers.replica import View
from maitred.explain.queues.answer import Queues
from maitred.sandbox.apiserver.users import ADMIN
from tests.controllers.answers.house import ELSE, House, cluster
from tests.controllers.answers.test_service import assert_kept, play
from tests.support import policy_of, read, state_of

CPU = [{"resource": "cpu", "guarantee": 8}]
THEIRS = "hidden-queue"


def only(namespace: str) -> dict[str, object]:
    return {"namespaces": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}


def test_a_member_of_a_team_is_told_of_the_queues_of_their_namespaces_only() -> None:
    queues = [
        {"name": "all", "limits": [{"resource": "cpu", "guarantee": 16}]},
        {"name": "ours", "parent": "all", "limits": CPU, **only("team-a")},
        {"name": THEIRS, "parent": "all", "limits": CPU, **only("team-b")},
    ]

    async def story(found: House) -> None:
        found.view = View(state_of(read(cluster())), {}, policy_of({"queues": queues}), None)
        answer = await found.told("queues")
        own = msgspec.convert(answer, Queues)
        assert [one.queue for one in own.queues] == ["all", "ours", "default"]
        assert own.elsewhere == 1
        assert_kept(answer)
        whole = msgspec.convert(await found.told("queues", ADMIN), Queues)
        assert [one.queue for one in whole.queues] == ["all", "ours", THEIRS, "default"]
        assert [one for one in whole.queues if one.queue != THEIRS] == list(own.queues)
        nobodys = msgspec.convert(await found.told("queues", ELSE), Queues)
        assert (nobodys.queues, nobodys.elsewhere) == ((), 4)

    play(story)
