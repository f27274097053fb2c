"""Objects as the watches hand them over, from the builders that all tests use."""

from typing import Any

import msgspec

from maitred.kube.wire import WatchedGroup, WatchedPod
from tests.oracle.builders import Obj, pod, pod_group


def watched_pod(*args: Any, **fields: Any) -> WatchedPod:
    return msgspec.convert(pod(*args, **{"scheduler": "maitred", **fields}), WatchedPod)


def watched_group(*args: Any, status: Obj | None = None, **fields: Any) -> WatchedGroup:
    return msgspec.convert({**pod_group(*args, **fields), "status": status or {}}, WatchedGroup)
