"""The decision: `decide(snapshot, policy, now) -> Plan`, a pure function."""

from maitred.decide.cycle import decide

__all__ = ["decide"]
