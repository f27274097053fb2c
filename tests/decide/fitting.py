"""Whether the pod ``p`` fits on the node ``n``: the engine says so, and so must the checker beside it."""

from tests.decide.reading import seats
from tests.filters.ours import Checker
from tests.oracle.builders import Obj
from tests.support import decide


def fits(*objects: Obj) -> bool:
    found = seats(decide(list(objects))).get("p")
    assert found in (None, "n")
    [asking] = [one for one in objects if (one["kind"], one["metadata"]["name"]) == ("Pod", "p")]
    others = [one for one in objects if one is not asking]
    assert ("n" in Checker(others).nodes_for(asking)) == (found == "n"), "the engine and the checker differ"
    return found is not None
