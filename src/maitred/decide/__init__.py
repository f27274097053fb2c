"""The decision: `decide(snapshot, policy, now, scope) -> Plan`, a pure function."""

from maitred.decide.cycle import decide
from maitred.decide.scope import Scope

__all__ = ["Scope", "decide"]
