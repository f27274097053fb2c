"""`maitred decide`: the whole engine as a function from files to a Plan."""

from datetime import UTC, datetime

import click
import msgspec

from maitred.cli import output
from maitred.cli.files import read_live_policy_file, read_objects
from maitred.model.manifest import InputError
from maitred.model.meta import Timestamp
from maitred.model.objects import Object
from maitred.model.plan import Plan
from maitred.model.policy import Policy


@click.command()
@output.inputs
@output.policy_file
@output.scheduler_name
@click.option("--now", metavar="RFC3339", help="Time to decide for.  [default: now]")
@output.output("table", "json", "yaml")
@output.refuses_bad_input
def command(
    files: tuple[str, ...],
    more: tuple[str, ...],
    policy: str | None,
    scheduler: str | None,
    now: str | None,
    form: str,
) -> None:
    """Decide over the objects in the files and print the Plan. Nothing is changed.

    The files hold nodes, pods and the other objects that a decision reads, in YAML or JSON, in any order. A
    Job, a JobSet or another such object that has no pods yet is decided as if its pods had been created.

    \b
    To write a dump (add podgroups and deviceclasses to the list if the cluster has them):
      kubectl get -A -o json > cluster.json \\
        nodes,pods,jobs,pdb,pc,ns,pvc,pv,sc,csinodes,csidrivers,volumeattachments

    \b
    Examples:
      maitred decide -f examples/first-gang -o json
      maitred decide -f examples/slices --policy examples/policies/datacenter.yaml
    """
    time = moment(now)
    rules = read_live_policy_file(policy)
    reader = read_objects((*files, *more))
    plan = plan_of(reader.objects, rules, time, scheduler)
    plan = msgspec.structs.replace(plan, warnings=(*reader.warnings(), *plan.warnings))
    if form == "table":
        from maitred.explain.tables import plan_lines

        output.warn(plan.warnings)
        output.write_lines(lambda width: plan_lines(plan, width, scheduler))
    else:
        output.write_data(plan, form)


def plan_of(objects: list[Object], policy: Policy, now: datetime, scheduler: str | None) -> Plan:
    # The engine brings numpy along, which bad input need not wait for.
    from maitred.cluster.state import ClusterState, Put
    from maitred.explain.remedies.seeking import explained_plan
    from maitred.explain.situation import Situation

    state = ClusterState(workloads=policy.workloads)
    for item in objects:
        state.apply(Put(item))
    return explained_plan(Situation(state.snapshot(), policy, now, scheduler))


def moment(text: str | None) -> datetime:
    if text is None:
        return datetime.now(UTC)
    try:
        return msgspec.convert(text, Timestamp)
    except msgspec.ValidationError:
        raise InputError("--now", "", "", f"{text!r} is not a time such as 2026-01-31T12:00:00Z") from None
