"""`maitred simulate`: the same decisions over days of virtual time, under several policies side by side."""

import sys
from typing import TYPE_CHECKING

import click

from maitred.cli import output
from maitred.model.manifest import InputError
from maitred.model.words import printable

if TYPE_CHECKING:
    from maitred.cli.simulate.showing import StudyDisplay
    from maitred.cli.simulate.study import Study
    from maitred.simulate.results import Result, Run

INTERRUPTED = 130
MOST_SEEDS = 1_000
LARGEST_SEED = 2**32 - 1


@click.command()
@click.argument("file")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME|FILE",
    help="Name of a policy in the scenario, or a policy file; the file's name without its ending names "
    "it in the report. May be repeated.  [default: all policies of the scenario]",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, MOST_SEEDS),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of runs for each policy, each with another seed.",
)
@click.option(
    "--seed",
    "first",
    type=click.IntRange(0, LARGEST_SEED),
    default=1,
    show_default=True,
    metavar="N",
    help="First seed; the other runs use the numbers after it.",
)
@click.option(
    "--traces",
    metavar="DIR",
    help="Directory of the files that the scenario names.  [default: the directory of the scenario]",
)
@output.output("table", "json", "html")
@click.option(
    "--engine",
    type=click.Choice(("local", "ray")),
    default="local",
    show_default=True,
    help="Run the simulations on the cores of this machine, or on a Ray cluster.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    show_default="as many as it has cores",
    metavar="N",
    help="Number of runs at the same time on this machine.",
)
@output.refuses_bad_input
def command(
    file: str,
    policies: tuple[str, ...],
    seeds: int,
    first: int,
    traces: str | None,
    form: str,
    engine: str,
    jobs: int | None,
) -> None:
    """Run the scenario in FILE (- is standard input) and compare its policies.

    Every policy sees the same cluster, the same jobs and the same faults. The same seed gives the same run.

    \b
    Examples:
      maitred simulate examples/scenarios/rush-hour.yaml
      maitred simulate examples/scenarios/rush-hour.yaml --seeds 3 -o html > report.html
    """
    if form == "html" and sys.stdout.isatty():
        raise InputError("-o html", "", "", "is a page for a browser: write it to a file with > report.html")
    if engine == "ray" and jobs is not None:
        raise InputError(
            "--jobs", "", "", "can only be used with --engine local: Ray runs one simulation on each core"
        )
    if first + seeds - 1 > LARGEST_SEED:
        what = f"{seeds} seeds from {first} on exceed {LARGEST_SEED}, the largest seed; use a smaller --seed"
        raise InputError("--seeds", "", "", what)
    try:
        from maitred.cli.simulate.study import read_study

        study = read_study(file, traces, policies, range(first, first + seeds))
        write(result_of(study, engine, jobs), form)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def result_of(study: "Study", engine: str, jobs: int | None) -> "Result":
    from maitred.cli.simulate.showing import showing
    from maitred.cli.simulate.study import EngineError
    from maitred.simulate.results import Result
    from maitred.simulate.summary import summarise

    try:
        with showing(study.cases) as stage:
            runs = run(study, engine, jobs, stage)
    except EngineError as error:
        click.echo(printable(str(error)), err=True)
        sys.exit(output.FAILED)
    return Result(scenario=study.scenario.name, summaries=summarise(runs), runs=tuple(runs))


def run(study: "Study", engine: str, jobs: int | None, stage: "StudyDisplay") -> "list[Run]":
    """The runs in the order of the cases, whoever ran them."""
    if engine == "ray":
        from maitred.cli.simulate.cluster import run_on_ray

        return run_on_ray(study, stage)
    from maitred.cli.simulate.local import cores, run_here, run_in_processes

    processes = min(jobs or cores(), len(study.cases))
    return run_here(study, stage) if processes == 1 else run_in_processes(study, processes, stage)


def write(result: "Result", form: str) -> None:
    if form == "table":
        from maitred.simulate.report.table import result_lines

        output.write_lines(lambda width: result_lines(result, width))
    elif form == "html":
        from maitred.simulate.report.html import html

        click.echo(html(result), nl=False)
    else:
        output.write_data(result, form)
