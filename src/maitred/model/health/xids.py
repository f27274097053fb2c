"""XIDs: the codes by which NVIDIA's driver reports faults, as far as it is known what they tell."""

import re
from typing import NamedTuple

from maitred.model.health.signals import Certainty, Family


class XidRow(NamedTuple):
    xid: int
    words: str
    family: Family
    certainty: Certainty
    helps: str


RESTART = "restart the application"
RESET = "drain the node and reset the GPU"
XIDS = (
    XidRow(13, "graphics engine exception", "OwnCode", "likely", RESTART),
    XidRow(31, "GPU memory page fault", "OwnCode", "likely", RESTART),
    XidRow(43, "the GPU stopped processing a channel", "OwnCode", "likely", RESTART),
    XidRow(45, "preemptive cleanup after an earlier error", "OwnCode", "likely", RESTART),
    XidRow(68, "video processor exception", "OwnCode", "likely", RESTART),
    XidRow(109, "context switch timeout", "OwnCode", "likely", RESTART),
    XidRow(46, "the GPU stopped processing", "Device", "certain", RESET),
    XidRow(48, "double-bit memory error", "Device", "certain", RESET),
    XidRow(63, "a bad memory row was remapped", "Degradation", "likely", "reset the GPU when it is idle"),
    XidRow(64, "a bad memory row could not be remapped", "Device", "certain", RESET),
    XidRow(74, "NVLink error", "Device", "certain", f"{RESET}; check the fabric if it comes back"),
    XidRow(79, "the GPU has fallen off the bus", "Device", "certain", "reboot the node or replace the GPU"),
    XidRow(94, "contained memory error", "Device", "likely", f"{RESTART}; reset the GPU later"),
    XidRow(95, "uncontained memory error", "Device", "certain", RESET),
    XidRow(119, "the GPU's system processor does not answer", "Device", "certain", RESET),
)
_ROWS = {row.xid: row for row in XIDS}
UNCLASSED = "is in no class that maitred knows"
MOST_READ = 4096
"""Characters of a message that are looked at."""
_XID = re.compile(r"(?<![sS])xid(?: *\([^)]{0,64}\))?[ :=#_-]*(\d{1,4})(?!\d)", re.IGNORECASE)
_ERROR_CODE = re.compile(r"\bErrorCode[:=] ?(\d{1,4})(?!\d)")
"""As NVSentinel writes it into conditions that are about XIDs."""


def xid_row(xid: int) -> XidRow:
    """An unknown one tells of a device, perhaps."""
    unknown = XidRow(xid, UNCLASSED, "Device", "possible", "look it up in NVIDIA's catalogue of XIDs")
    return _ROWS.get(xid, unknown)


def xids_in(*texts: str, coded: bool = False) -> list[int]:
    """The XIDs that are named in some texts, each once. `coded`: error codes in them are XIDs."""
    text = "\n".join(one[:MOST_READ] for one in texts)
    found = _XID.findall(text) + (_ERROR_CODE.findall(text) if coded else [])
    return list(dict.fromkeys(int(one) for one in found))
