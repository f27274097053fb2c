"""What the watches of a shadow tell the mirror."""

import msgspec

from maitred.controllers.scheduling.mirror import Mirror, feed_owners
from maitred.model.job import Job
from maitred.model.suspending import BY_TITLE, OwnerName


def test_owners_are_known_from_their_watch_until_they_are_gone() -> None:
    mirror = Mirror(None)
    feed = feed_owners(mirror, BY_TITLE["Job"])
    about = {"name": "train", "namespace": "default", "uid": "job-train"}
    feed.put(msgspec.convert({"metadata": about, "spec": {}}, Job))
    assert list(mirror.owners) == [OwnerName("Job", "default/train")]
    assert "default/train" in mirror.state.snapshot().jobs
    feed.gone("default/train")
    assert (mirror.owners, mirror.state.snapshot().jobs) == ({}, {})
