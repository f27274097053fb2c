"""Lingjun, openb and causes of faults."""

from collections import Counter

import pytest

from maitred.model.manifest import InputError
from maitred.model.node import allocatable
from maitred.model.selector import Requirement
from maitred.model.world import Levels
from maitred.simulate.clock import SECOND
from maitred.simulate.traces.causes import USUAL, read_causes
from maitred.simulate.traces.nodes import read_lingjun, read_openb_nodes
from maitred.simulate.traces.openb import read_openb_pods
from maitred.simulate.traces.workers import MODEL
from tests.simulate.data import shared

LEVELS = Levels("example.com/block", "example.com/rack")
NODES = "sn,cpu_milli,memory_mib,gpu,model\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time,scheduled_time\n"


def test_switches_of_one_name_under_two_others_are_two_racks() -> None:
    data = b"ip,DSW,PSW,ASW\naa,G1,P1,S1\nbb,G1,P2,S1\ncc,G1,P1,S1\n"
    nodes = read_lingjun(data, "topo.csv", {"nvidia.com/gpu": 8}, LEVELS)
    assert [node.metadata.name for node in nodes] == ["h0001", "h0002", "h0003"]
    racks = [node.metadata.labels["example.com/rack"] for node in nodes]
    assert racks == ["G1-P1-S1", "G1-P2-S1", "G1-P1-S1"]
    assert [node.metadata.labels["example.com/block"] for node in nodes] == ["G1-P1", "G1-P2", "G1-P1"]
    assert allocatable(nodes[0])["nvidia.com/gpu"] == 8


def test_the_topology_of_lingjun_has_the_known_counts() -> None:
    nodes = read_lingjun(shared("lingjun/topo.csv.gz"), "topo", {}, LEVELS)
    labels = [node.metadata.labels for node in nodes]
    assert len(nodes) == 847
    assert len({label["example.com/rack"] for label in labels}) == 119
    assert len({label["example.com/block"] for label in labels}) == 3


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("aa,G1,P1,S1\naa,G1,P1,S1", "line 3: ip: aa is already used in line 2"),
        ("aa,G1,P 1,S1", "line 2: PSW: 'P 1' is not a name"),
        ("aa,G1,,S1", "line 2: PSW: is empty"),
    ],
)
def test_what_is_wrong_with_a_topology_is_named(text: str, error: str) -> None:
    with pytest.raises(InputError) as refused:
        read_lingjun(f"ip,DSW,PSW,ASW\n{text}\n".encode(), "topo.csv", {}, LEVELS)
    assert str(refused.value).startswith(f"topo.csv: {error}")


def test_nodes_of_openb_have_their_models() -> None:
    big, bare = read_openb_nodes(f"{NODES}n-1,64000,262144,2,P100\nn-2,96000,1,0,\n".encode(), "nodes.csv")
    assert big.metadata.labels[MODEL] == "P100"
    assert {"cpu": 64000, "memory": 2**38, "nvidia.com/gpu": 2}.items() <= allocatable(big).items()
    assert MODEL not in bare.metadata.labels
    assert "nvidia.com/gpu" not in allocatable(bare)


def test_the_nodes_of_openb_have_the_known_counts() -> None:
    nodes = read_openb_nodes(shared("fgd/openb_node_list_gpu_node.csv.gz"), "nodes")
    amounts = [allocatable(node) for node in nodes]
    kinds = Counter((allocatable(n)["nvidia.com/gpu"], n.metadata.labels[MODEL]) for n in nodes)
    assert (len(nodes), len({model for _, model in kinds})) == (1213, 7)
    assert sum(a["nvidia.com/gpu"] for a in amounts) == 6212
    assert sum(a["cpu"] for a in amounts) == 107_018_000
    assert (kinds[8, "G2"], kinds[2, "T4"], kinds[2, "P100"], kinds[8, "G3"]) == (549, 387, 131, 39)
    assert len(read_openb_nodes(shared("fgd/openb_node_list_all_node.csv.gz"), "nodes")) == 1523


def test_pods_of_openb_take_whole_gpus_or_a_part_of_one() -> None:
    text = """a,4000,1024,1,460,V100M32|V100M16,10,30,15
b,1,1,2,1000,,10,30,10
c,1,1,1,1000,,9,30,10
d,1,1,0,0,,0,1,0
"""
    shared_one, two, one, none = read_openb_pods(f"{PODS}{text}".encode(), "pods.csv", True).jobs
    assert [job.load for job in (shared_one, two, one, none)] == [460, 2000, 1000, 0]
    assert [job.crews[0].devices for job in (shared_one, two, one, none)] == [0, 2, 1, 0]
    assert (shared_one.arrival, shared_one.run_time) == (10 * SECOND, 15 * SECOND)
    assert shared_one.crews[0].models == ("V100M16", "V100M32")
    affinity = shared_one.crews[0].spec.affinity
    assert affinity is not None
    assert affinity.node_affinity.required is not None
    (requirement,) = affinity.node_affinity.required.node_selector_terms[0].match_expressions
    assert requirement == Requirement(MODEL, "In", ("V100M16", "V100M32"))
    assert two.crews[0].spec.affinity is None


def test_a_pod_that_never_ran_was_given_up_when_it_was_deleted() -> None:
    (job,) = read_openb_pods(f"{PODS}a,1,1,1,1000,,10,30,\n".encode(), "pods.csv", True).jobs
    assert (job.run_time, job.given_up) == (None, 20 * SECOND)


def test_a_variant_without_times_is_read_only_where_none_are_needed() -> None:
    data = b"name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,8,1000\n"
    (job,) = read_openb_pods(data, "pods.csv", timed=False).jobs
    assert (job.load, job.run_time, job.given_up) == (8000, None, None)
    with pytest.raises(InputError, match="with shuffle: true a trace needs no times"):
        read_openb_pods(data, "pods.csv", timed=True)
    with pytest.raises(
        InputError, match=r"num_gpu: there is no such column; there are name, cpu_milli, memory_mib$"
    ):
        read_openb_pods(b"name,cpu_milli,memory_mib\n", "pods.csv", timed=True)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a,1,1,2,500,,0,1,0", "line 2: gpu_milli: 500 of each of 2 GPUs"),
        ("a,1,1,1,1001,,0,1,0", "line 2: gpu_milli: 1001 is not between 1 and 1000"),
        ("a,1,1,1,0,,0,1,0", "line 2: gpu_milli: 0 is not between 1 and 1000"),
        ("a,1,1,1,1000,,5,4,5", "line 2: deletion_time: is before it began"),
        ("a,1,1,1,1000,,5,9,4", "line 2: scheduled_time: is before creation_time"),
        ("a,1,1,1,1000,,,9,4", "line 2: creation_time: is empty"),
        ("a,1,999999999999999,1,1000,,0,1,0", "line 2: memory_mib: "),
    ],
)
def test_what_is_wrong_with_pods_is_named(text: str, error: str) -> None:
    with pytest.raises(InputError) as refused:
        read_openb_pods(f"{PODS}{text}\n".encode(), "pods.csv", True)
    assert str(refused.value).startswith(f"pods.csv: {error}")


def test_the_pods_of_openb_have_the_known_counts() -> None:
    jobs = read_openb_pods(shared("fgd/openb_pod_list_default.csv.gz"), "pods", True).jobs
    crews = [job.crews[0] for job in jobs]
    assert len(jobs) == 8152
    assert sum(crew.share > 0 for crew in crews) == 3078
    assert Counter(crew.devices for crew in crews if not crew.share) == {
        0: 1088,
        1: 3911,
        2: 16,
        4: 15,
        8: 44,
    }
    assert sum(job.load for job in jobs) == 6_086_800


@pytest.mark.parametrize("variant", ["gpushare100", "multigpu50", "gpuspec33", "cpu250"])
def test_all_variants_of_openb_can_be_read(variant: str) -> None:
    assert len(read_openb_pods(shared(f"fgd/openb_pod_list_{variant}.csv.gz"), variant, False).jobs) > 8000


def test_causes_have_what_they_break() -> None:
    causes = read_causes(b"component,category,count\nFaulty GPU,GPU,3\nSwitch,Network,1\n", "causes.csv")
    assert [(cause.breaks, cause.count) for cause in causes] == [("device", 3), ("rack", 1)]
    with pytest.raises(InputError, match="line 2: category: 'Moon' is not one of GPU, Host"):
        read_causes(b"component,category,count\nTide,Moon,3\n", "causes.csv")
    with pytest.raises(InputError, match="has no failure in it"):
        read_causes(b"component,category,count\nFaulty GPU,GPU,0\n", "causes.csv")


def test_the_usual_causes_are_those_of_llama_3() -> None:
    assert sum(cause.count for cause in USUAL) == 419
    assert sum(cause.count for cause in USUAL if cause.breaks == "device") == 268
    assert read_causes(shared("failures/llama3_405b_54days_16384gpu.csv"), "causes") == USUAL
