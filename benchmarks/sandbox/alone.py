"""`python alone.py KUBECONFIG`: the API server of the sandbox in a process of its own, until it is ended."""

import asyncio
import sys
from pathlib import Path

from maitred.cli.garbage_collection import expect_much_to_stay
from maitred.cli.loops import quickest_loop
from maitred.sandbox.access import embedded


async def serve(kubeconfig: Path) -> None:
    async with embedded() as access:
        access.write_kubeconfig(kubeconfig)
        print(access.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    expect_much_to_stay()
    with asyncio.Runner(loop_factory=quickest_loop()) as runner:
        runner.run(serve(Path(sys.argv[1])))
