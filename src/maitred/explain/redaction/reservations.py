"""Reservations: when, and which nodes, everybody may know. For whom they are, and who has made them, only
those whom it concerns."""

from maitred.explain.redaction.aliases import Aliases
from maitred.explain.redaction.overrides import SOMEBODY
from maitred.explain.redaction.vocabulary import Vocabulary
from maitred.model.reservations import Beneficiary, Reservation
from maitred.model.reserving import (
    MadeReservation,
    ReservationMemory,
    ReservationNotice,
    StandingReservation,
)


def reservation_told(one: Reservation, names: Aliases, words: Vocabulary) -> Reservation:
    who = one.beneficiary
    return Reservation(
        name=words.told(one.name),
        beneficiary=Beneficiary(
            queue=who.queue and words.told(who.queue),
            namespace=who.namespace and names.namespace(who.namespace),
            group=who.group and names.key(who.group),
        ),
        begin=one.begin,
        until=one.until,
        devices=one.devices,
        nodes=one.nodes,
        within=one.within,
        every=one.every,
        time_zone=one.time_zone,
        lead_time=one.lead_time,
        release_after=one.release_after,
        on_start=one.on_start,
    )


def reservations_told(memory: ReservationMemory, names: Aliases, words: Vocabulary) -> ReservationMemory:
    told = (
        MadeReservation(said=reservation_told(one.said, names, words), by=SOMEBODY, made=one.made)
        for one in memory.reservations
    )
    standing = (
        StandingReservation(said=reservation_told(one.said, names, words), since=one.since)
        for one in memory.standing
    )
    warned = (
        ReservationNotice(
            reservation=words.told(one.reservation),
            unit=names.key(one.unit),
            at=one.at,
            begin=one.begin,
        )
        for one in memory.warned
    )
    return ReservationMemory(reservations=tuple(told), standing=tuple(standing), warned=tuple(warned))
