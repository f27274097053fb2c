"""What can happen in a run."""

from enum import IntEnum


class EventKind(IntEnum):
    """In the order in which it does at one moment."""

    FINISH = 0
    READY = 1
    GONE = 2
    REPAIR = 3
    FAULT = 4
    RELAPSE = 5
    NOTICE = 6
    TAINT_EVICTION = 7
    RETRY = 8
    CANCEL = 9
    RENDEZVOUS = 10
    ARRIVAL = 11
    CYCLE = 12
    PATIENCE = 13
