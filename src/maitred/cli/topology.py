"""`maitred topology`: the levels of a cluster, its domains and what is free in them, and what is wrong."""

import click
import msgspec

from maitred.cli import output
from maitred.cli.files import read_objects, read_policy_file


@click.command()
@output.inputs
@output.policy_file
@output.output("table", "json", "yaml")
@output.refuses_bad_input
def command(files: tuple[str, ...], more: tuple[str, ...], policy: str | None, form: str) -> None:
    """Show the topology that the labels of the nodes make: levels, domains, and what is free in each.

    The levels are those of the policy, or else those that waiting groups name. A node without the label of a
    level, and a domain that lies in two wider domains, are reported as problems.

    \b
    Example:
      maitred topology -f examples/rack-bound
    """
    rules, _ = read_policy_file(policy)
    reader = read_objects((*files, *more))
    # The engine brings numpy along, which bad input need not wait for.
    from maitred.cluster.state import ClusterState, Put
    from maitred.explain.topology import topology_of

    state = ClusterState(workloads=rules.workloads)
    for item in reader.objects:
        state.apply(Put(item))
    topology = msgspec.structs.replace(topology_of(state.snapshot(), rules), warnings=reader.warnings())
    if form == "table":
        from maitred.explain.topology_tables import topology_lines

        output.warn(topology.warnings)
        output.write_lines(lambda width: topology_lines(topology, width))
    else:
        output.write_data(topology, form)
