"""One truth about pods that come later: the engine and the checker expect the same ones, after the same."""

from hypothesis import given

from maitred.cluster.snapshot import GroupView
from maitred.verify.group_reading import read_groups
from maitred.verify.later import read_links
from maitred.verify.objects import read_cluster
from maitred.verify.policy import read_policy
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.oracle.staged import Scene, scenes
from tests.support import snapshot_of

Expected = dict[str, tuple[str, dict[str, int], bool]]
"""By the group that is decided with them: its owner, how many pods come of each group, whether it is next."""


def as_the_engine_has_it(objects: list[Obj]) -> Expected:
    snapshot = snapshot_of(objects)
    views = [view for view in (*snapshot.groups, *snapshot.awaited) if view.owned_by]
    return {view.group.key: (view.owned_by, _coming(view), view.kept_from is not None) for view in views}


def _coming(view: GroupView) -> dict[str, int]:
    return {} if view.later is None else dict(view.later.groups)


def as_the_checker_has_it(objects: list[Obj]) -> Expected:
    cluster, policy = read_cluster(objects), read_policy(None)
    links = read_links(cluster, read_groups(cluster, policy), policy)
    assert not links.unclear
    return {
        link.host.key: (link.owner, {key: len(pods) for key, pods in link.coming.items()}, bool(link.before))
        for link in links.every
        if not (link.before and link.suspended)
    }


@given(scenes(rivals=0))
@examples(300)
def test_the_engine_and_the_checker_expect_the_same_pods(scene: Scene) -> None:
    found = as_the_engine_has_it(scene.objects)
    assert found == as_the_checker_has_it(scene.objects)
    if scene.staged.missing and not (scene.staged.suspended and scene.staged.runs):
        assert found
