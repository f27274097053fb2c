"""Sets of completion indexes, as a Job writes them: `0-3,5,7,8`."""

from collections.abc import Iterable


def parse(text: str, completions: int) -> set[int]:
    """Those below `completions`: a Job may have been made smaller. What is no number is left out."""
    found = set[int]()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            found.update(range(int(first), min(int(last or first) + 1, completions)))
    return found


def written(indexes: Iterable[int]) -> str:
    runs = list[list[int]]()
    for index in sorted(indexes):
        if runs and runs[-1][-1] == index - 1:
            runs[-1][1:] = [index]
        else:
            runs.append([index])
    return ",".join(run_written(run) for run in runs)


def run_written(run: list[int]) -> str:
    """Two neighbours are no range."""
    return f"{run[0]}{',' if run[-1] == run[0] + 1 else '-'}{run[-1]}" if len(run) > 1 else str(run[0])


def first_free(taken: set[int], count: int, completions: int) -> list[int]:
    found = list[int]()
    for index in range(completions):
        if len(found) >= count:
            break
        if index not in taken:
            found.append(index)
    return found
