"""Only the leader writes: every write asks a Permit first."""

from typing import Protocol

from maitred.kube.errors import KubeError


class NotLeading(KubeError):
    """This process may not write. Nothing was sent; whoever leads decides anew from what the server holds."""


class Permit(Protocol):
    def check(self) -> None:
        """Raises NotLeading unless this process may write now. Asked before each request, so it is cheap."""


class Always:
    """For a run without election: its user has said that there is no other."""

    def check(self) -> None:
        pass


class ShadowPermit:
    """For a shadow: it decides and reports, and the cluster stays as it is."""

    def check(self) -> None:
        raise NotLeading("this scheduler is a shadow, so it writes nothing")
