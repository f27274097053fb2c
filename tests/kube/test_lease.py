"""The lease: at most one may write at any moment, and when the weather clears somebody does."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maitred.kube.jitter import jitter
from maitred.kube.lease import LEASE_SECONDS, RENEW_SECONDS, Term
from maitred.kube.permit import NotLeading
from maitred.kube.writes import WRITE_SECONDS
from tests.kube.lease_world import CALM, STEP, Weather, World

STORM = Weather(
    lost_requests=0.15,
    lost_replies=0.25,
    errors=0.1,
    slowest=4.0,
    suspensions=0.01,
    longest_suspension=30.0,
)


@contextmanager
def world(*names: str, seed: int = 1, restless: bool = False) -> Iterator[World]:
    state = jitter.getstate()
    jitter.seed(seed)
    simulated = World(seed, names, restless=restless)
    try:
        yield simulated
    finally:
        simulated.close()
        jitter.setstate(state)


def weathers() -> st.SearchStrategy[Weather]:
    share = st.sampled_from([0.0, 0.1, 0.3, 0.6])
    return st.builds(
        Weather,
        lost_requests=share,
        lost_replies=share,
        errors=share,
        slowest=st.sampled_from([0.0, 1.0, 4.0, 12.0]),
        suspensions=st.sampled_from([0.0, 0.005, 0.02]),
        longest_suspension=st.sampled_from([5.0, 12.0, 40.0]),
    )


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32), spells=st.lists(weathers(), min_size=1, max_size=3))
def test_no_two_may_write_at_any_moment(seed: int, spells: list[Weather]) -> None:
    """The world asserts it after every step, whatever the processes know of each other by then."""
    with world("a", "b", "c", seed=seed, restless=True) as simulated:
        for weather in spells:
            simulated.run(60.0, weather)
        simulated.run(90.0, CALM)
        assert sum(process.terms for process in simulated.processes) > 0


def test_somebody_leads_again_after_a_storm() -> None:
    with world("a", "b", restless=True) as simulated:
        simulated.run(120.0, STORM)
        for _ in range(100):
            simulated.run(1.0, CALM)
            if simulated.leader() is not None:
                break
        assert simulated.leader() is not None


def test_a_lease_that_was_given_back_is_taken_before_it_would_have_expired() -> None:
    with world("a", "b") as simulated:
        simulated.run(6.0, CALM)
        first = simulated.leader()
        assert first is not None
        first.life.cancel()
        simulated.run(RENEW_SECONDS, CALM)
        second = simulated.leader()
        assert second is not None
        assert second is not first


def test_what_a_lease_given_back_looks_like() -> None:
    with world("a") as simulated:
        simulated.run(6.0, CALM)
        [process] = simulated.processes
        process.life.cancel()
        simulated.run(2.0, CALM)
        assert simulated.stored is not None
        spec = simulated.stored["spec"]
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("", 1, 0)


def test_a_leader_that_died_is_followed_when_its_lease_has_run_out() -> None:
    with world("a", "b") as simulated:
        simulated.run(6.0, CALM)
        dead = simulated.leader()
        assert dead is not None
        dead.asleep_until = simulated.now + 60.0
        simulated.run(RENEW_SECONDS + 1.0, CALM)
        assert simulated.leader() is None
        simulated.run(LEASE_SECONDS, CALM)
        heir = simulated.leader()
        assert heir is not None
        assert heir is not dead


def test_one_who_was_suspended_may_not_write_when_it_wakes() -> None:
    with world("a", "b") as simulated:
        simulated.run(6.0, CALM)
        sleeper = simulated.leader()
        assert sleeper is not None
        assert sleeper.term is not None
        sleeper.asleep_until = simulated.now + 60.0
        simulated.run(59.0, CALM)
        assert not sleeper.term.lost.is_set()
        with pytest.raises(NotLeading):
            sleeper.term.check()


def test_one_who_was_suspended_before_it_heard_that_it_leads() -> None:
    """The answer was there when it woke, but it is an old one: the other may have begun meanwhile."""
    with world("a", "b") as simulated:
        while simulated.stored is None:
            simulated.run(STEP, CALM)
        holder = simulated.stored["spec"]["holderIdentity"]
        [sleeper] = [process for process in simulated.processes if process.name == holder]
        assert sleeper.term is None
        sleeper.asleep_until = simulated.now + 40.0
        simulated.run(60.0, CALM)
        assert simulated.leader() is not sleeper


def test_answers_that_are_always_lost_do_not_end_a_term() -> None:
    """The writes are executed each time, and the read after each says so."""
    with world("a") as simulated:
        simulated.run(60.0, Weather(lost_replies=1.0, spares_reads=True))
        [process] = simulated.processes
        assert process.may_write()
        assert process.terms == 1


class Relabelled(World):
    """Another hand labels the lease after each read, so that every update comes too late."""

    def serve(self, verb: str, body: bytes | None) -> bytes:
        answer = super().serve(verb, body)
        if verb == "GET":
            lease = json.loads(answer)
            lease["metadata"]["labels"] = {"touched": str(self.now)}
            self.keep(lease)
        return answer


def test_a_change_of_the_lease_by_another_hand_is_no_renewal() -> None:
    with world("a") as simulated:
        simulated.run(6.0, CALM)
        assert simulated.leader() is not None
        simulated.__class__ = Relabelled
        simulated.run(RENEW_SECONDS + 3.0, CALM)
        assert simulated.leader() is None
        simulated.__class__ = World


def test_an_update_keeps_what_others_wrote_on_the_lease() -> None:
    with world("a") as simulated:
        simulated.run(6.0, CALM)
        assert simulated.stored is not None
        marked = json.loads(json.dumps(simulated.stored))
        marked["metadata"]["labels"] = {"team": "infra"}
        simulated.keep(marked)
        simulated.run(4.0, CALM)
        assert simulated.stored["metadata"]["labels"] == {"team": "infra"}
        assert simulated.stored["metadata"]["resourceVersion"] != marked["metadata"]["resourceVersion"]


def test_a_term_that_is_over_does_not_begin_again() -> None:
    async def run() -> None:
        now = 100.0
        term = Term(lambda: now, began=100.0)
        now = 109.9
        term.check()
        now = 110.0
        with pytest.raises(NotLeading):
            term.check()
        term.renew(began=109.0)
        with pytest.raises(NotLeading):
            term.check()

    asyncio.run(run())


def test_a_write_is_given_up_before_another_may_lead() -> None:
    assert RENEW_SECONDS + WRITE_SECONDS <= LEASE_SECONDS
