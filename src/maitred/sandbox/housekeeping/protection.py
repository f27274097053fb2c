"""PodGroups that are being deleted stay until no unfinished pod names them."""

from maitred.kube.resources import PODS
from maitred.sandbox.housekeeping.api import ControllerApi
from maitred.sandbox.housekeeping.cache import Index, ObjectCache, key_of
from maitred.sandbox.housekeeping.objects import POD_GROUPS, Pod, PodGroup, group_name
from maitred.sandbox.housekeeping.work import WorkQueue

PROTECTION = "scheduling.k8s.io/podgroup-protection"


class GroupProtection:
    def __init__(self, stock: ObjectCache, api: ControllerApi) -> None:
        self._api = api
        self._groups = stock.shelf(POD_GROUPS, PodGroup)
        pods = stock.shelf(PODS, Pod)
        self._members = Index(pods, unfinished_member_of)
        self._queue = WorkQueue("podgroup", self._unprotect)
        self._groups.listen(self._group_told)
        pods.listen(self._pod_told)

    async def run(self) -> None:
        await self._queue.run()

    def _group_told(self, old: PodGroup | None, new: PodGroup | None) -> None:
        if new is not None and new.metadata.deletion_timestamp is not None:
            self._queue.add(key_of(new.metadata))

    def _pod_told(self, old: Pod | None, new: Pod | None) -> None:
        group = None if old is None else group_name(old)
        if group is not None and (new is None or new.is_finished or group_name(new) != group):
            self._queue.add(group)

    async def _unprotect(self, key: str) -> None:
        group = self._groups.items.get(key)
        if group is None or group.metadata.deletion_timestamp is None or self._members[key]:
            return
        if PROTECTION in group.metadata.finalizers:
            await self._api.remove_finalizer(POD_GROUPS, group.metadata, PROTECTION)


def unfinished_member_of(pod: Pod) -> str | None:
    return None if pod.is_finished else group_name(pod)
