"""ITP and Muri: GPUs of jobs to workers, and times to the microsecond."""

import pytest

from maitred.model.manifest import InputError
from maitred.model.requests import pod_requests
from maitred.simulate.clock import SECOND
from maitred.simulate.traces.gangs import Split, read_itp, read_muri
from maitred.simulate.traces.workers import WorkerRequests
from tests.simulate.data import shared

EIGHT = Split(8, WorkerRequests())
ITP = "job_id,submission_time,duration,num_gpu\n"
MURI = "job_id,num_gpu,submit_time,iterations,model_name,batch_size,iteration_time\n"


def test_a_job_of_itp_becomes_workers_of_eight_gpus() -> None:
    reading = read_itp(f"{ITP}a,5,7.5,1\nb,6,8,8\nc,7,9,24\nd,8,10,0\n".encode(), "t.csv", EIGHT)
    assert reading.warnings == ()
    assert [(job.name, job.arrival, job.run_time) for job in reading.jobs] == [
        ("a", 5 * SECOND, 7_500_000),
        ("b", 6 * SECOND, 8 * SECOND),
        ("c", 7 * SECOND, 9 * SECOND),
        ("d", 8 * SECOND, 10 * SECOND),
    ]
    sizes = [(job.quorum, job.crews[0].count, job.crews[0].devices) for job in reading.jobs]
    assert sizes == [(1, 1, 1), (1, 1, 8), (3, 3, 8), (1, 1, 0)]


def test_gpus_that_make_no_whole_workers_are_rounded_up_and_counted() -> None:
    reading = read_itp(f"{ITP}a,0,1,12\nb,0,1,6\nc,0,1,16\n".encode(), "t.csv", EIGHT)
    assert [(job.crews[0].count, job.crews[0].devices) for job in reading.jobs] == [(2, 8), (1, 6), (2, 8)]
    assert reading.warnings == (
        "t.csv: 1 of 3 jobs got more GPUs than they asked for, so that every worker has 8",
    )


def test_workers_ask_for_cores_and_memory_with_their_gpus_unless_told_otherwise() -> None:
    data = f"{ITP}a,0,1,2\nb,0,1,0\n".encode()
    usual, bare = (pod_requests(job.crews[0].spec) for job in read_itp(data, "t.csv", EIGHT).jobs)
    assert (usual["cpu"], usual["memory"], usual["nvidia.com/gpu"]) == (8000, 64 * 2**30, 2)
    assert (bare["cpu"], bare["memory"]) == (4000, 16 * 2**30)
    told = read_itp(data, "t.csv", Split(8, WorkerRequests("6", "1Gi"))).jobs[0]
    assert pod_requests(told.crews[0].spec)["cpu"] == 6000


def test_workers_that_are_alike_have_the_same_spec() -> None:
    first, second = read_itp(f"{ITP}a,0,1,8\nb,0,1,64\n".encode(), "t.csv", EIGHT).jobs
    assert first.crews[0].spec is second.crews[0].spec


def test_jobs_of_muri_run_as_long_as_in_its_simulator() -> None:
    (job,) = read_muri(f"{MURI}7,16,1500,1001,gpt2,16,333\n".encode(), "t.csv", EIGHT).jobs
    assert (job.name, job.arrival, job.run_time) == ("7", 1_500_000, 1001 * 333 * 1015)
    assert (job.quorum, job.model) == (2, "gpt2")


def test_jobs_of_itp_may_have_come_on_dates() -> None:
    dates = ["2026-01-31T12:00:00Z", "2026-01-31T14:00:01.5+02:00", "2026-01-31 12:00:02"]
    data = ITP + "".join(f"{n},{date},1,1\n" for n, date in enumerate(dates))
    arrivals = [job.arrival for job in read_itp(data.encode(), "t.csv", EIGHT).jobs]
    assert [arrival - arrivals[0] for arrival in arrivals] == [0, 1_500_000, 2 * SECOND]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a,-5,1,1", "line 2: submission_time: -5 is negative"),
        ("a,5,-1,1", "line 2: duration: -1 is negative"),
        ("a,5,1,some", "line 2: num_gpu: 'some' is not a number"),
        (
            "a,5,1,0.5",
            "line 2: num_gpu: '0.5' is not a whole number; use the format openb for parts of a GPU",
        ),
        (
            "a,noon,1,1",
            "line 2: submission_time: 'noon' is neither a number of seconds nor a date such as "
            "2026-01-31T12:00:00Z",
        ),
        (
            "a,5,1,1\nb,2026-01-31T12:00:00Z,1,1",
            "line 3: submission_time: '2026-01-31T12:00:00Z': some rows have a date here, and others seconds",
        ),
        (
            "a,1969-12-31T23:59:59Z,1,1",
            "line 2: submission_time: 1969-12-31T23:59:59Z is not within a hundred years from 1970",
        ),
        ("a,5,1,2000000", "line 2: num_gpu: 2000000 is more than any job has"),
        ("a,5,1,1\na,6,1,1", "line 3: job_id: 'a' is already used in line 2"),
        ("A_1,5,1,1\na-1,6,1,1", "line 3: job_id: 'a-1' is already used in line 2"),
        ("__,5,1,1", "line 2: job_id: '__' has neither letters nor digits"),
    ],
)
def test_what_is_wrong_is_named(text: str, error: str) -> None:
    with pytest.raises(InputError) as refused:
        read_itp(f"{ITP}{text}\n".encode(), "t.csv", EIGHT)
    assert str(refused.value) == f"t.csv: {error}"


@pytest.mark.parametrize(
    ("file", "jobs", "large"),
    [("01", 1595, 43), ("02", 5778, 86), ("03", 3011, 135), ("04", 15802, 442)],
)
def test_the_traces_of_itp_have_the_known_counts(file: str, jobs: int, large: int) -> None:
    reading = read_itp(shared(f"itp/cluster{file}.csv.gz"), "itp", EIGHT)
    assert (len(reading.jobs), sum(job.quorum > 1 for job in reading.jobs)) == (jobs, large)


@pytest.mark.parametrize(("file", "jobs", "load"), [("trace1", 1494, 1.99), ("trace2", 5755, 5.41)])
def test_the_traces_of_muri_have_the_known_counts_and_loads(file: str, jobs: int, load: float) -> None:
    read = read_muri(shared(f"muri/{file}.csv.gz"), "muri", EIGHT).jobs
    asked = sum(job.load * (job.run_time or 0) for job in read) / 1000
    span = max(job.arrival for job in read) - min(job.arrival for job in read)
    assert len(read) == jobs
    assert asked / span / 64 == pytest.approx(load, rel=0.02)
