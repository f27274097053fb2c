"""`maitred simulate` from end to end: a scenario in, policies side by side out, on however many processes."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from maitred.cli import cli
from maitred.simulate import results
from tests.docs.console import run as on_terminal

COMMAND = [sys.executable, "-m", "maitred.cli", "simulate"]
DEADLINE_SECONDS = 60.0
RAY_SECONDS = 300.0
"""Ray starts a cluster of its own, which takes a minute on a machine that is busy with other tests."""
SMALL = """\
apiVersion: maitred.dev/v1alpha1
kind: Scenario
name: an afternoon
cluster: {kinds: [{name: h100, nodes: 4, resources: {cpu: "96", memory: 1Ti, nvidia.com/gpu: 8}}]}
workload:
- name: train
  arrivals: {perHour: 6}
  workers: {values: [1, 2, 4]}
  gpus: 8
  runTime: {exponential: {mean: 30m}}
policies:
  whole: {order: fifo}
  each: {placement: pod-by-pod}
horizon: 8h
"""
IMPOSSIBLE = SMALL.replace("[1, 2, 4]", "[1, 5]")
TRACED = SMALL.partition("workload:")[0] + "workload: [{trace: {format: itp, file: traces/jobs.csv}}]\n"
DAYS = SMALL.replace("horizon: 8h", "horizon: 4d").replace("perHour: 6", "perHour: 4")
LONG = DAYS.replace("horizon: 4d", "horizon: 1000d")
"""Minutes of real time."""


def simulate(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["simulate", *arguments], input=text)


def shown(*arguments: str, text: str | None = None) -> str:
    result = simulate(*arguments, text=text)
    assert result.exit_code == 0, result.output
    return result.stdout


def found(*arguments: str) -> results.Result:
    return msgspec.json.decode(shown("-o", "json", *arguments), type=results.Result)


def cases(*arguments: str) -> list[tuple[str, int]]:
    return [(run.policy, run.seed) for run in found(*arguments).runs]


def refused(*arguments: str, text: str | None = None) -> str:
    result = simulate(*arguments, text=text)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr.strip()


@pytest.fixture
def small(tmp_path: Path) -> str:
    return written(tmp_path / "small.yaml", SMALL)


def written(file: Path, text: str) -> str:
    file.write_text(text)
    return str(file)


# -- what comes out ------------------------------------------------------------------------------------


def test_policies_stand_side_by_side(small: str) -> None:
    table = shown(small)
    assert table.startswith("an afternoon")
    assert re.search(r"^ +whole +each$", table, re.MULTILINE)


def test_the_whole_result_as_json(small: str) -> None:
    result = found(small, "--seeds", "2", "--seed", "7")
    assert (result.kind, result.scenario) == ("SimulationResult", "an afternoon")
    assert [summary.policy for summary in result.summaries] == ["whole", "each"]
    assert [summary.seeds for summary in result.summaries] == [(7, 8), (7, 8)]
    assert [(run.policy, run.seed) for run in result.runs] == [
        ("whole", 7),
        ("whole", 8),
        ("each", 7),
        ("each", 8),
    ]
    assert all(run.outcomes for run in result.runs)


def test_policies_see_the_same_jobs_and_seeds_do_not(small: str) -> None:
    whole, other, each, _ = found(small, "--seeds", "2").runs
    arrivals = [[(o.job, o.arrival) for o in run.outcomes] for run in (whole, each, other)]
    assert arrivals[0] == arrivals[1] != arrivals[2]


def test_html_is_one_page_for_a_file(small: str, tmp_path: Path) -> None:
    page = shown(small, "-o", "html")
    assert page.lower().startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    status, words = on_terminal(["simulate", small, "-o", "html"], tmp_path)
    assert status == 2
    assert words == "-o html: is a page for a browser: write it to a file with > report.html\n"


def test_a_job_that_fits_nowhere_is_reported(tmp_path: Path) -> None:
    outcomes = found(written(tmp_path / "big.yaml", IMPOSSIBLE), "--policy", "whole").runs[0].outcomes
    large = [outcome for outcome in outcomes if outcome.members == 5]
    assert large
    assert {outcome.end for outcome in large} == {"impossible"}
    assert all(outcome.why for outcome in large)


def test_a_scenario_may_come_from_a_pipe() -> None:
    assert shown("-", text=SMALL).startswith("an afternoon")


# -- which policies ------------------------------------------------------------------------------------


def test_only_the_policies_that_are_asked_for(small: str, tmp_path: Path) -> None:
    own = written(tmp_path / "by-priority.yaml", "order: priority")
    assert cases(small, "--policy", own, "--policy", "whole") == [("by-priority", 1), ("whole", 1)]


def test_a_policy_that_is_nowhere(small: str) -> None:
    words = "--policy: 'hole' is neither a file nor one of the scenario's policies: whole, each"
    assert refused(small, "--policy", "hole") == words


def test_a_policy_without_a_name(small: str) -> None:
    words = "--policy: '' is neither a file nor one of the scenario's policies: whole, each"
    assert refused(small, "--policy", "") == words


def test_two_policies_of_one_name(small: str, tmp_path: Path) -> None:
    own = written(tmp_path / "whole.yaml", "order: priority")
    assert "two policies have the name 'whole'" in refused(small, "--policy", own, "--policy", "whole")


def test_a_policy_file_that_is_wrong(small: str, tmp_path: Path) -> None:
    own = written(tmp_path / "own.yaml", "order: alphabetical")
    assert refused(small, "--policy", own).startswith(f"{own}: order: 'alphabetical' is not one of")


def test_an_order_that_would_be_ignored(small: str, tmp_path: Path) -> None:
    own = written(tmp_path / "own.yaml", "{order: fifo, placement: pod-by-pod}")
    words = (
        "order: 'fifo' has no effect with placement pod-by-pod, which orders jobs by priority; leave it out"
    )
    assert refused(small, "--policy", own) == f"{own}: {words}"
    file = written(tmp_path / "odd.yaml", SMALL.replace("{placement:", "{order: fifo, placement:"))
    assert refused(file) == f"{file}: policies.each.{words}"


def test_reservations_have_no_days_in_a_simulation(small: str, tmp_path: Path) -> None:
    when = "from: 2026-03-02T14:00, until: 2026-03-02T18:00"
    own = written(
        tmp_path / "own.yaml", f"reservations: [{{name: a, for: {{namespace: b}}, nodes: {{}}, {when}}}]"
    )
    words = "reservations: are on days of the calendar, which simulations do not have; leave them out"
    assert refused(small, "--policy", own) == f"{own}: {words}"


def test_simulations_have_no_autoscaler(small: str, tmp_path: Path) -> None:
    own = written(tmp_path / "own.yaml", "provisioning: {class: queued.example.com}")
    words = "provisioning: asks an autoscaler for nodes, and simulations have none; leave it out"
    assert refused(small, "--policy", own) == f"{own}: {words}"


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_placement_that_cannot_seat_the_jobs(tmp_path: Path, jobs: str) -> None:
    file = written(tmp_path / "gangs.yaml", SMALL.replace("pod-by-pod", "best-fit"))
    said = refused(file, "--policy", "each", "--seeds", "2", "--jobs", jobs)
    assert said.startswith(f"{file}: policies.each.placement: 'best-fit' cannot place job train-")


# -- input that is not valid ---------------------------------------------------------------------------


def test_a_scenario_that_is_not_there(tmp_path: Path) -> None:
    file = str(tmp_path / "nowhere.yaml")
    assert refused(file) == f"{file}: no such file or directory"


def test_a_scenario_that_is_wrong(tmp_path: Path) -> None:
    file = written(tmp_path / "wrong.yaml", SMALL.replace("perHour: 6", "perHour: -6"))
    assert refused(file).startswith(f"{file}: workload[0].arrivals.perHour: must be more than 0")


def test_seeds_beyond_the_largest(small: str) -> None:
    assert cases(small, "--policy", "each", "--seed", "4294967295") == [("each", 4294967295)]
    words = "2 seeds from 4294967295 on exceed 4294967295, the largest seed; use a smaller --seed"
    assert refused(small, "--seed", "4294967295", "--seeds", "2") == f"--seeds: {words}"


def test_traces_are_looked_for_beside_the_scenario(tmp_path: Path) -> None:
    file, traces = written(tmp_path / "traced.yaml", TRACED), tmp_path / "traces"
    missing = "no such file or directory"
    where = f"{file}: workload[0].trace.file"
    hint = "; --traces names another folder"
    assert refused(file) == f"{where}: {traces / 'jobs.csv'}: {missing}{hint}"
    other = tmp_path / "other"
    assert refused(file, "--traces", str(other)) == f"{where}: {other / 'traces' / 'jobs.csv'}: {missing}"
    traces.mkdir()
    written(traces / "jobs.csv", "job_id,submission_time,duration,num_gpu\n1,0,600,8\n2,60,600,16\n")
    (run,) = found(file).runs
    assert [outcome.devices for outcome in run.outcomes] == [8, 16]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_trace_that_is_wrong_is_refused_wherever_it_is_read(tmp_path: Path, jobs: str) -> None:
    (tmp_path / "traces").mkdir()
    written(tmp_path / "traces" / "jobs.csv", "job_id,submission_time,duration\n1,0,600\n")
    file = written(tmp_path / "traced.yaml", TRACED)
    words = refused(file, "--seeds", "2", "--jobs", jobs)
    assert words.startswith("traces/jobs.csv: line 1: num_gpu: there is no such column")


# -- engines -------------------------------------------------------------------------------------------


def test_the_result_does_not_depend_on_the_processes(small: str) -> None:
    alone = shown(small, "-o", "json", "--seeds", "2", "--jobs", "1")
    assert shown(small, "-o", "json", "--seeds", "2", "--jobs", "3") == alone


def test_a_line_for_every_run_where_there_is_no_terminal(small: str) -> None:
    lines = simulate(small, "--seeds", "2", "--jobs", "2").stderr.splitlines()
    assert [line.partition(":")[0] for line in lines] == [f"{n} of 4 runs done" for n in (1, 2, 3, 4)]
    told = sorted(line.partition(": ")[2] for line in lines)
    assert told == [f"policy {name}, seed {seed}" for name in ("each", "whole") for seed in (1, 2)]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_bars_on_a_terminal_are_gone_at_the_end(small: str, jobs: str) -> None:
    controller, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [*COMMAND, small, "--jobs", jobs], env=environment, stdout=subprocess.DEVNULL, stderr=terminal
    ) as process:
        os.close(terminal)
        seen = everything(controller)
        assert process.wait(DEADLINE_SECONDS) == 0
    os.close(controller)
    last = seen[: seen.rindex("\x1b[?25h")].rpartition("\x1b[2K")[2]
    assert re.findall(r"^(\w+) .*?(\d+%)", last, re.MULTILINE) == [("whole", "100%"), ("each", "100%")]
    assert seen.endswith("\r\x1b[1A\x1b[2K\x1b[1A\x1b[2K"), "both are taken off the screen"


def everything(source: int) -> str:
    """What is written to a terminal until nobody has it open any more."""
    seen, end = b"", time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < end:
        if select.select([source], [], [], 1.0)[0]:
            try:
                seen += os.read(source, 65536)
            except OSError:
                break
    return seen.decode()


def test_without_ray_it_says_what_to_install(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    result = simulate(small, "--engine", "ray")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "--engine ray needs Ray, which comes with pip install 'maitred[ray]'\n"


def test_ray_counts_its_own_cores(small: str) -> None:
    assert refused(small, "--engine", "ray", "--jobs", "2").startswith(
        "--jobs: can only be used with --engine local"
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 15), reason="there is no Ray for this Python yet")
def test_the_result_does_not_depend_on_the_engine(small: str) -> None:
    """In a process of its own: Ray warns of things that are not ours to mend."""
    arguments = [small, "--seeds", "2", "-o", "json"]
    ray = subprocess.run(
        [*COMMAND, *arguments, "--engine", "ray"],
        env={**os.environ, "RAY_ADDRESS": "local"},
        capture_output=True,
        timeout=RAY_SECONDS,
    )
    assert ray.returncode == 0, ray.stderr
    assert ray.stdout.decode() == shown(*arguments)
    assert ray.stderr.count(b"\n") == 4, "a line for each run, and nothing that Ray has to say"


# -- ends that come early ------------------------------------------------------------------------------


@contextmanager
def running(
    folder: Path, text: str, *options: str, errors: int = subprocess.PIPE
) -> Iterator[subprocess.Popen[str]]:
    """What it writes errors to ends with the last of its processes."""
    with subprocess.Popen(
        [*COMMAND, written(folder / "scenario.yaml", text), *options],
        stdout=subprocess.DEVNULL,
        stderr=errors,
        env={**os.environ, "TERM": "xterm"},
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def workers(process: subprocess.Popen[str], count: int) -> list[int]:
    """As soon as there are so many."""
    end = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < end and process.poll() is None:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        spawned = [child for child in children if is_worker(Path("/proc", child, "cmdline"))]
        if len(spawned) == count:
            return [int(child) for child in spawned]
        time.sleep(0.05)
    raise AssertionError("the workers did not come")


def is_worker(command: Path) -> bool:
    return b"spawn_main" in command.read_bytes()


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


@on_linux
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_all_of_it(tmp_path: Path, jobs: int) -> None:
    controller, terminal = pty.openpty()
    with running(tmp_path, LONG, "--jobs", str(jobs), errors=terminal) as process:
        os.close(terminal)
        while b"whole" not in os.read(controller, 65536):
            pass
        workers(process, jobs if jobs > 1 else 0)
        os.killpg(process.pid, signal.SIGINT)
        after = everything(controller)
        assert process.wait(DEADLINE_SECONDS) == 130
    os.close(controller)
    assert "Traceback" not in after
    assert after.endswith("\x1b[2K"), "bars are taken away, and there is nothing to say"


@on_linux
def test_ctrl_c_is_not_for_the_workers(tmp_path: Path) -> None:
    with running(tmp_path, DAYS, "--jobs", "2") as process:
        for worker in workers(process, 2):
            os.kill(worker, signal.SIGINT)
        _, errors = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == 0, errors


@on_linux
def test_a_worker_that_is_killed_is_told_of(tmp_path: Path) -> None:
    with running(tmp_path, LONG, "--jobs", "2") as process:
        os.kill(workers(process, 2)[1], signal.SIGKILL)
        _, errors = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == 1
    words = "its process ended by SIGKILL; if the machine is short of memory, run one at a time with --jobs 1"
    assert errors == f"policy each, seed 1: {words}\n"


@on_linux
def test_workers_do_not_outlive_whom_they_work_for(tmp_path: Path) -> None:
    with running(tmp_path, LONG, "--jobs", "2") as process:
        workers(process, 2)
        process.kill()
        process.communicate(timeout=DEADLINE_SECONDS)


def test_help_waits_for_nothing_heavy() -> None:
    program = (
        "import sys, maitred.cli.simulate; print([m for m in ('numpy', 'rich', 'ray') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
