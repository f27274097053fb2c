"""The chapters of the catalogue."""

from tests.catalogue.pairs_places import BOTH, EITHER
from tests.catalogue.pairs_room import ROOM, STARTING
from tests.catalogue.places import DEVICES, HEALTH, TOPOLOGY
from tests.catalogue.room import CAPACITY, FRAGMENTATION, PRIORITY
from tests.catalogue.rules import RULES
from tests.catalogue.starting import GATED, MEMBERS, REQUEST
from tests.catalogue.sums import SUMS, TOGETHER
from tests.catalogue.turns import ENDING, TURNS
from tests.catalogue.unwell import BROKEN, LOST
from tests.catalogue.wishes import AFFINITY, VOLUME

SINGLES = (
    MEMBERS,
    GATED,
    REQUEST,
    PRIORITY,
    TOPOLOGY,
    DEVICES,
    HEALTH,
    AFFINITY,
    VOLUME,
    FRAGMENTATION,
    CAPACITY,
    BROKEN,
    LOST,
    ENDING,
    TURNS,
    SUMS,
    RULES,
)
PAIRS = (STARTING, EITHER, BOTH, ROOM, TOGETHER)
