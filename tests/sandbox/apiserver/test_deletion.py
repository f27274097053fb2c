"""Deletion that takes its time. What else there is to it is compared with the real server."""

import asyncio

from tests.sandbox.apiserver.session import PODS, pod, session

LONGEST = 2**63 - 1


def test_a_period_of_grace_that_no_calendar_has() -> None:
    async def test() -> None:
        async with session() as here:
            await here.make(PODS, pod("p", nodeName="n", terminationGracePeriodSeconds=LONGEST))
            status, left = await here.ask("DELETE", f"{PODS}/p")
            assert (status, left["metadata"]["deletionGracePeriodSeconds"]) == (200, LONGEST)
            assert left["metadata"]["deletionTimestamp"] == "9999-12-31T23:59:59Z"
            status, left = await here.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 5})
            assert (status, left["metadata"]["deletionGracePeriodSeconds"]) == (200, 1)
            await here.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
            assert (await here.ask("GET", f"{PODS}/p"))[0] == 404

    asyncio.run(test())
