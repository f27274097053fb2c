"""`maitred sandbox taint` and `untaint`: devices that pods claim fail, and are well again."""

import asyncio
from typing import TYPE_CHECKING

import click

from maitred.cli.sandbox.finding import Duration, on_sandbox
from maitred.model.words import counted

if TYPE_CHECKING:
    from maitred.kube.client import Client

devices_named = click.argument("devices", nargs=-1, required=True, metavar="POOL[/DEVICE]...")


@click.command()
@devices_named
@click.option(
    "--effect",
    type=click.Choice(["NoExecute", "NoSchedule"]),
    default="NoExecute",
    show_default=True,
    help="NoExecute also evicts the pods that use the devices.",
)
@click.option(
    "--for", "seconds", metavar="DURATION", type=Duration(), help="Remove the taint after this time."
)
@on_sandbox
async def taint(client: "Client", devices: tuple[str, ...], effect: str, seconds: float | None) -> None:
    """Taint devices that pods claim, with a DeviceTaintRule for each: no claim gets them any more.

    A POOL without a DEVICE means all of its devices. The pool of a node has the name of the node.

    \b
    Examples:
      maitred sandbox taint b1-r1-n01/gpu-3
      maitred sandbox taint r2 --effect NoSchedule --for 5m
    """
    from maitred.sandbox.world import device_taints
    from maitred.sandbox.world.objects import WorldObjects

    objects = WorldObjects(client)
    found = await device_taints.meant(objects, devices)
    await device_taints.taint(objects, found, effect)
    click.echo(f"{counted(len(found), 'device')} tainted ({effect})")
    if seconds is None:
        return
    click.echo(f"the taint is removed in {seconds:g} s; Ctrl-C removes it now")
    try:
        await asyncio.sleep(seconds)
    finally:
        await device_taints.untaint(objects, found)
        click.echo(f"{counted(len(found), 'device')} untainted")


@click.command()
@devices_named
@on_sandbox
async def untaint(client: "Client", devices: tuple[str, ...]) -> None:
    """Remove the taints that `maitred sandbox taint` has set.

    \b
    Example:
      maitred sandbox untaint b1-r1-n01
    """
    from maitred.sandbox.world import device_taints
    from maitred.sandbox.world.objects import WorldObjects

    objects = WorldObjects(client)
    found = await device_taints.meant(objects, devices)
    lifted = await device_taints.untaint(objects, found)
    others = f"; {counted(len(found) - lifted, 'device')} not tainted" if lifted < len(found) else ""
    click.echo(f"{counted(lifted, 'device')} untainted{others}")
