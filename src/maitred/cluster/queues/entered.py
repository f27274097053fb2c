"""Groups on their accounts, kept from one cycle for the next."""

from collections.abc import Callable, Iterable

from maitred.cluster.snapshot import GroupView

Views = tuple[GroupView, ...]


class EnteredViews:
    """Most groups are the same in one cycle after the other, and on the same account."""

    def __init__(self) -> None:
        self._known = dict[int, tuple[GroupView, GroupView]]()
        """By the identity of a group as the snapshot has it: that, and the same on its account."""

    def entered(
        self, account_of: Callable[[GroupView], tuple[int, bool]], views: Iterable[Views]
    ) -> list[Views]:
        """`account_of` tells the account of a group, and whether those on it pay nothing."""
        before, now = self._known, dict[int, tuple[GroupView, GroupView]]()

        def on_account(view: GroupView) -> GroupView:
            account, scavenges = account_of(view)
            if view.is_on(account, scavenges):
                return view
            known = before.get(id(view))
            if known is None or known[0] is not view or not known[1].is_on(account, scavenges):
                known = view, view.on_account(account, scavenges)
            now[id(view)] = known
            return known[1]

        found = [tuple(map(on_account, some)) for some in views]
        self._known = now or before  # where nobody was entered, all were before
        return found
