"""The table of blocker categories: what follows from a row."""

from typing import get_args

from maitred.model.categories import ANYTHING, CATEGORIES, NO_EFFECT, Category, in_order


def test_every_category_has_one_row_in_the_order_of_the_words() -> None:
    assert tuple(CATEGORIES) == get_args(Category)


def test_blockers_are_named_in_the_order_of_the_table() -> None:
    found = in_order(["Volume", "Priority", "Capacity", "Topology", "Members"])
    assert found == ["Members", "Priority", "Topology", "Volume", "Capacity"]


def test_what_only_its_owner_can_change_does_not_wake_a_group() -> None:
    own = {category for category, traits in CATEGORIES.items() if not traits.lifted_from_outside}
    assert own == {"Members", "Gated"}
    assert all(CATEGORIES[category].wakes == NO_EFFECT for category in own)


def test_autoscalers_are_asked_for_nodes_only_where_room_is_short() -> None:
    """Nodes that are bought for any other reason would stay empty."""
    for traits in CATEGORIES.values():
        assert traits.about_room or not traits.more_nodes_help
        assert traits.more_nodes_help or not traits.larger_cluster_helps


def test_what_is_not_known_to_depend_on_anything_is_looked_at_after_every_change() -> None:
    assert CATEGORIES["Backoff"].wakes == ANYTHING
