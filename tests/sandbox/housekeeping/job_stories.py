"""What can become of a Job."""

from tests.sandbox.housekeeping.stories import Json, Story, Teller

GANG: Json = {"schedulingPolicy": {"gang": {}}}


async def completes(job: Teller) -> None:
    pods = await job.active(2)
    await job.ready(pods)
    await job.becomes(lambda status: status.get("ready") == 2)
    await job.end(pods, "Succeeded")
    await job.end(await job.active(1), "Succeeded")
    await job.has("Complete")


async def indexed(job: Teller) -> None:
    pods = await job.active(3)
    await job.end([pods[2], pods[0]], "Succeeded")
    pods = await job.active(3)
    await job.end(pods, "Succeeded")
    await job.has("Complete")


async def one_success_is_enough(job: Teller) -> None:
    first, *others = await job.active(3)
    await job.end([first], "Succeeded")
    await job.becomes(lambda status: status.get("succeeded") == 1)
    await job.end(others, "Failed", 1)
    await job.has("Complete")


async def fails_at_once(job: Teller) -> None:
    first, *_ = await job.active(3)
    await job.end([first], "Failed", 1)
    await job.has("Failed")


async def fails_after_retry(job: Teller) -> None:
    await job.end(await job.active(1), "Failed", 1)
    await job.end(await job.active(1), "Failed", 1)
    await job.has("Failed")


async def retried_and_completed(job: Teller) -> None:
    first, second = await job.active(2)
    await job.end([first], "Failed", 1)
    await job.becomes(lambda status: status.get("failed") == 1)
    await job.end([second], "Succeeded")
    await job.end(await job.active(1), "Succeeded")
    await job.has("Complete")


async def suspended_and_resumed(job: Teller) -> None:
    await job.active(2)
    await job.change(suspend=True)
    await job.has("Suspended")
    await job.becomes(lambda status: not status.get("active") and not status.get("terminating"))
    await job.change(suspend=False)
    await job.end(await job.active(2), "Succeeded")
    await job.has("Complete")


async def created_suspended(job: Teller) -> None:
    await job.has("Suspended")
    assert not await job.pods()


async def too_late(job: Teller) -> None:
    await job.active(2)
    await job.has("Failed")


async def a_pod_is_deleted(job: Teller) -> None:
    first, _ = await job.active(2)
    await job.delete([first])
    await job.becomes(lambda status: status.get("failed") == 1)
    await job.end(await job.active(2), "Succeeded")
    await job.has("Complete")


async def indexes_fail(job: Teller) -> None:
    pods = await job.active(3)
    await job.end([pods[1]], "Failed", 1)
    await job.end([pods[0], pods[2]], "Succeeded")
    await job.becomes(lambda status: status.get("succeeded") == 2)
    await job.end(await job.active(1), "Failed", 1)
    await job.has("Failed")


async def too_many_indexes_fail(job: Teller) -> None:
    pods = await job.active(4)
    await job.end(pods[:2], "Failed", 1)
    await job.has("Failed")


async def failures_by_rule(job: Teller) -> None:
    ignored, counted, _ = await job.active(3)
    await job.end([ignored], "Failed", 1, condition="DisruptionTarget")
    await job.end([counted], "Failed", 7)
    await job.becomes(lambda status: status.get("failed") == 1)
    (last, *_) = await job.active(3)
    await job.end([last], "Failed", 42)
    await job.has("Failed")


async def an_index_fails_by_rule(job: Teller) -> None:
    first, second = await job.active(2)
    await job.end([first], "Failed", 13)
    await job.end([second], "Succeeded")
    await job.has("Failed")


async def enough_by_rule(job: Teller) -> None:
    pods = await job.active(3)
    await job.end([pods[1]], "Succeeded")
    await job.has("Complete")


async def grows_and_shrinks(job: Teller) -> None:
    await job.active(2)
    await job.change(parallelism=4)
    await job.active(4)
    await job.change(parallelism=1)
    await job.active(1)
    await job.becomes(lambda status: status.get("active") == 1 and not status.get("terminating"))


async def elastic(job: Teller) -> None:
    await job.active(3)
    await job.change(parallelism=2, completions=2)
    await job.active(2)
    await job.end(await job.active(2), "Succeeded")
    await job.has("Complete")


async def cleared_away(job: Teller) -> None:
    await job.end(await job.active(1), "Succeeded")
    await job.gone()


RULES = [
    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
    {"action": "Count", "onExitCodes": {"operator": "In", "values": [7]}},
    {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [1, 7]}},
]
FAIL_INDEX = {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [13]}}

STORIES = (
    Story("completes", {"parallelism": 2, "completions": 3}, completes),
    Story("indexed", {"parallelism": 3, "completions": 5, "completionMode": "Indexed"}, indexed),
    Story("one-is-enough", {"parallelism": 3}, one_success_is_enough),
    Story("fails-at-once", {"parallelism": 3, "completions": 3, "backoffLimit": 0}, fails_at_once),
    Story("fails-after-retry", {"backoffLimit": 1}, fails_after_retry),
    Story("retried", {"parallelism": 2, "completions": 2}, retried_and_completed),
    Story("suspended", {"parallelism": 2, "completions": 2}, suspended_and_resumed),
    Story("created-suspended", {"parallelism": 2, "suspend": True}, created_suspended),
    Story("too-late", {"parallelism": 2, "completions": 2, "activeDeadlineSeconds": 3}, too_late),
    Story("pod-deleted", {"parallelism": 2, "completions": 2}, a_pod_is_deleted),
    Story(
        "indexes-fail",
        {"parallelism": 3, "completions": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 1},
        indexes_fail,
    ),
    Story(
        "too-many-indexes-fail",
        {
            "parallelism": 4,
            "completions": 4,
            "completionMode": "Indexed",
            "backoffLimitPerIndex": 0,
            "maxFailedIndexes": 1,
        },
        too_many_indexes_fail,
    ),
    Story(
        "failures-by-rule",
        {"parallelism": 3, "completions": 3, "podFailurePolicy": {"rules": RULES}},
        failures_by_rule,
    ),
    Story(
        "index-fails-by-rule",
        {
            "parallelism": 2,
            "completions": 2,
            "completionMode": "Indexed",
            "backoffLimitPerIndex": 3,
            "podFailurePolicy": {"rules": [FAIL_INDEX]},
        },
        an_index_fails_by_rule,
    ),
    Story(
        "enough-by-rule",
        {
            "parallelism": 3,
            "completions": 3,
            "completionMode": "Indexed",
            "successPolicy": {"rules": [{"succeededIndexes": "1"}]},
        },
        enough_by_rule,
    ),
    Story("grows-and-shrinks", {"parallelism": 2, "completions": 8}, grows_and_shrinks),
    Story(
        "elastic",
        {"parallelism": 3, "completions": 3, "completionMode": "Indexed", "scheduling": GANG},
        elastic,
    ),
    Story("cleared-away", {"ttlSecondsAfterFinished": 0}, cleared_away),
)
