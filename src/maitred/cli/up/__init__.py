"""`maitred up`: a cluster in one command, with the scheduler on it."""

import asyncio
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maitred.cli import output
from maitred.cli.files import content, read_live_policy_file
from maitred.cli.loops import quickest_loop
from maitred.model.manifest import InputError

if TYPE_CHECKING:
    from maitred.model.world import World
    from maitred.sandbox.controlplane.run import ControlPlane
    from maitred.sandbox.world.story import Story

VERSIONS = ("1.37", "1.36")


@click.command()
@click.option(
    "--world",
    metavar="FILE",
    help="File of kind World that says which nodes there are.  [default: 64 nodes of 8 GPUs, in 8 racks "
    "of 2 blocks]",
)
@click.option("--story", metavar="NAME|FILE", help="Play this story; `maitred sandbox stories` lists them.")
@click.option(
    "--policy",
    metavar="FILE",
    help="Policy file of the scheduler.  [default: a policy with the topology levels of the world]",
)
@click.option(
    "--kubernetes",
    type=click.Choice(VERSIONS),
    help="Run a real Kubernetes control plane instead of the built-in API server. The first use builds "
    "it, which takes about ten minutes.",
)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    help="Where to write the kubeconfig.  [default: ~/.maitred/sandbox.kubeconfig]",
)
@output.refuses_bad_input
def command(
    world: str | None, story: str | None, policy: str | None, kubernetes: str | None, kubeconfig: str | None
) -> None:
    """Start a sandbox with the scheduler, and show its nodes and groups until Ctrl-C.

    The sandbox is an API server on loopback, with simulated nodes; kubectl can talk to it. When it stops,
    nothing of it is left.

    \b
    Examples:
      maitred up
      maitred up --story two-gangs
      maitred up --world examples/worlds/mixed.yaml --kubernetes 1.37
    """
    from maitred.cli.up.running import Evening, make_room, run
    from maitred.sandbox.place import sandbox_kubeconfig_path

    if policy is not None:
        read_live_policy_file(policy)
    path = Path(kubeconfig) if kubeconfig else sandbox_kubeconfig_path()
    evening = Evening(world_of(world), story_of(story), policy, path)
    try:
        asyncio.run(make_room(path))
        with ExitStack() as stack:
            plane = control_plane(stack, kubernetes) if kubernetes else None
            runner = stack.enter_context(asyncio.Runner(loop_factory=quickest_loop()))
            runner.run(run(evening, plane))
    except Exception as error:
        from maitred.sandbox.controlplane.toolchain import UnavailableError

        output.end_in_words(error, UnavailableError)
        raise
    with suppress(OSError):  # The terminal may be gone, too.
        click.echo("\nThe sandbox has stopped, and its kubeconfig is deleted.")


def world_of(path: str | None) -> "World":
    from maitred.model.world import World, read_world
    from maitred.sandbox.kubelets.marks import KUBELET

    return World() if path is None else read_world(*content(path), taken=(KUBELET,))


def story_of(name: str | None) -> "Story | None":
    from maitred.sandbox.world.story import read_story, stories

    if name is None:
        return None
    known = stories()
    if name not in known and not Path(name).exists():
        listed = ", ".join(sorted(known))
        raise InputError("--story", "", "", f"{name!r} is neither a file nor one of these: {listed}")
    return read_story(*content(str(known.get(name, name))))


def control_plane(stack: ExitStack, version: str) -> "ControlPlane":
    """Its processes end with the thread that started them, so they are started here, before all else."""
    from maitred.sandbox.controlplane.build import programs
    from maitred.sandbox.controlplane.run import ControlPlane
    from maitred.sandbox.controlplane.versions import RELEASES

    release = next(release for name, release in RELEASES.items() if name.startswith(version))
    programs(release, click.echo)
    click.echo(f"Kubernetes {release.name}: starting its control plane")
    plane = stack.enter_context(ControlPlane(release, say=click.echo))
    stack.enter_context(plane.controller_manager())
    stack.enter_context(plane.kube_scheduler())
    return plane
