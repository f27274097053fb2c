"""A process that writes a ledger until it is killed: `python -m tests.ledger.writing URL`."""

import sys
from itertools import count

from maitred.explain.billing.losses import Loss
from maitred.ledger.store import Ledger
from tests.ledger.made import BEGIN, HOUR, at, entry, opened, turn

STEP = 1 / 3600


def main(url: str) -> None:
    tenure = Ledger.open(url, BEGIN).claim("killed", BEGIN)
    first, _ = tenure.open_groups()
    begin = (tenure.since - at(0)) / HOUR
    for step in count(1):
        until = begin + step * STEP
        made = entry(until, hours=STEP, red_productive=3, blue_starting=2)
        made.opened = [opened(first + step, f"red/{first + step}", until)]
        made.turns = [turn(first + step, until, "Waiting", "Capacity")]
        made.losses = [Loss("red/train", at(until - STEP), at(until), 1000, "lostToFailure")]
        tenure.write(made)
        sys.stdout.write(f"{made.until}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
