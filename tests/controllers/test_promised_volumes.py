"""What the state has of volumes from the order on, until the watches show it."""

import msgspec

from maitred.cluster.state import ClusterState
from maitred.controllers.scheduling.promised_volumes import PromisedVolumes
from maitred.model.meta import ObjectMeta
from maitred.model.plan import VolumeChoice
from maitred.model.storage import (
    SELECTED_NODE,
    ClaimReference,
    ClaimSpec,
    PersistentVolume,
    PersistentVolumeClaim,
)

VOLUME = PersistentVolume(ObjectMeta(name="v"))
CLAIM = PersistentVolumeClaim(ObjectMeta(name="c", namespace="ns"))
KEPT = VolumeChoice("ns/c", "v", "n1")
MADE = VolumeChoice("ns/c", None, "n1")


def storage() -> tuple[ClusterState, PromisedVolumes]:
    state = ClusterState()
    promised = PromisedVolumes(state)
    promised.put(VOLUME)
    promised.put(CLAIM)
    return state, promised


def reference(state: ClusterState) -> ClaimReference | None:
    return state.storage.volumes["v"].spec.claim_ref


def selected(state: ClusterState) -> str | None:
    return state.storage.claims["ns/c"].metadata.annotations.get(SELECTED_NODE)


def test_a_promised_volume_is_kept_for_its_claim_until_it_is_given_up() -> None:
    state, promised = storage()
    promised.add([KEPT])
    assert reference(state) == ClaimReference("ns", "c")
    promised.put(msgspec.structs.replace(VOLUME, metadata=ObjectMeta(name="v", labels={"seen": "again"})))
    assert reference(state) == ClaimReference("ns", "c"), "an update that does not show it yet"
    promised.remove([KEPT])
    assert reference(state) is None
    assert state.storage.volumes["v"].metadata.labels == {"seen": "again"}, "the last that was seen"


def test_a_claim_whose_volume_is_to_be_made_has_its_node_selected() -> None:
    state, promised = storage()
    promised.add([MADE])
    assert selected(state) == "n1"
    promised.remove([MADE])
    assert selected(state) is None


def test_what_the_api_server_says_stands() -> None:
    state, promised = storage()
    promised.add([MADE, KEPT])
    other = ClaimReference("ns", "other", "uid")
    spec = msgspec.structs.replace(VOLUME.spec, claim_ref=other)
    promised.put(msgspec.structs.replace(VOLUME, spec=spec))
    promised.put(msgspec.structs.replace(CLAIM, spec=ClaimSpec(volume_name="v")))
    assert (reference(state), selected(state)) == (other, None)
    promised.gone(PersistentVolume, "v")
    promised.remove([MADE, KEPT])
    assert "v" not in state.storage.volumes


def test_groups_that_share_a_claim_hold_its_volume_together() -> None:
    state, promised = storage()
    promised.add([KEPT])
    promised.add([VolumeChoice("ns/c", "v", "n2")])
    promised.remove([KEPT])
    assert reference(state) == ClaimReference("ns", "c")
    promised.remove([VolumeChoice("ns/c", "v", "n2")])
    assert reference(state) is None
