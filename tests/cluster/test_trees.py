"""Trees of groups in the state: put together as their objects come, and taken apart as they go."""

from maitred.cluster.state import ClusterState, Delete, Put
from maitred.model.group import CompositePodGroup, PodGroup
from tests.decide.test_trees import part
from tests.oracle.builders import composite, node
from tests.support import read, state_of


def keys(state: ClusterState) -> list[str]:
    return [view.group.key for view in state.snapshot().groups]


def test_pods_move_to_their_tree_when_its_composites_come_and_go() -> None:
    state = state_of(read([node("n1"), *part("a", 1, 1, of="inner")]))
    assert (keys(state), state.group_key("default/a-0")) == (["default/inner"], "default/inner")
    state.regrouped.clear()
    state.take_news()
    [inner] = read([composite("inner", parent="root")])
    state.apply(Put(inner))
    assert (keys(state), state.regrouped) == (["default/root"], {"default/a-0"})
    assert state.take_news().groups == {"default/inner", "default/root"}
    state.apply(Delete(CompositePodGroup, "default/inner"))
    assert keys(state) == ["default/inner"]


def test_a_podgroup_that_is_gone_is_no_part_of_its_tree_any_more() -> None:
    state = state_of(read([node("n1"), composite("root", 2), *part("a", 1, 1), *part("b", 1, 1)]))
    state.apply(Delete(PodGroup, "default/b"))
    assert keys(state) == ["default/b", "default/root"]
    [_, tree] = state.snapshot().groups
    assert tree.parts is not None
    assert [branch.key for branch in tree.parts.root.children] == ["default/a"]


def test_a_change_of_one_member_is_news_of_the_tree_and_leaves_other_trees_as_they_were() -> None:
    objects = (
        node("n1"),
        composite("root"),
        composite("other"),
        *part("a", 1, 1),
        *part("b", 1, 1, of="other"),
    )
    state = state_of(read([*objects]))
    before = state.snapshot().groups
    state.take_news()
    [_, more] = read([*part("a", 1, 1, start=1)])
    state.apply(Put(more))
    assert state.take_news().groups == {"default/root"}
    after = state.snapshot().groups
    assert after[0] is before[0]
    assert len(after[1].pods) == 2
