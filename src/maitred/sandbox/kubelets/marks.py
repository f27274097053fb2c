"""What people write on nodes and pods to tell the simulated kubelets how to behave."""

import logging
import math

from maitred.model.meta import ObjectMeta, mark

log = logging.getLogger(__name__)

KUBELET = "sandbox.maitred.dev/kubelet"
SIMULATED = "simulated"
"""Label and value of nodes that are to have a simulated kubelet. No real node has it."""
BLOCK_MARK, RACK_MARK = "sandbox.maitred.dev/block", "sandbox.maitred.dev/rack"
"""Labels of nodes whose own labels for block and rack are called otherwise, so that people find them."""
FAULT = "sandbox.maitred.dev/fault"
"""Annotation of a node whose machine is to be lost; its value says why, for people. Without it, it heals."""

RUN_SECONDS = "maitred.dev/run-seconds"
"""Of a pod that ends by itself after so long; others run until they are deleted."""
EXIT_CODE = "maitred.dev/exit-code"
"""How such a pod ends; without `run-seconds`, as soon as it runs. Anything but 0 is a failure."""
START_SECONDS = "maitred.dev/start-seconds"
"""From being admitted to Running, as if an image were pulled."""
STOP_SECONDS = "maitred.dev/stop-seconds"
"""From being deleted to gone; its grace period at most."""

LARGEST_EXIT_CODE = 255


def is_simulated(metadata: ObjectMeta) -> bool:
    return metadata.labels.get(KUBELET) == SIMULATED


def is_faulty(metadata: ObjectMeta) -> bool:
    return FAULT in metadata.annotations


def run_seconds(metadata: ObjectMeta) -> float | None:
    """None for a pod that does not end by itself."""
    given = number(metadata, RUN_SECONDS)
    return 0.0 if given is None and mark(metadata, EXIT_CODE) is not None else given


def start_seconds(metadata: ObjectMeta, usual: float) -> float:
    given = number(metadata, START_SECONDS)
    return usual if given is None else given


def stop_seconds(metadata: ObjectMeta, usual: float) -> float:
    given = number(metadata, STOP_SECONDS)
    return usual if given is None else given


def exit_code(metadata: ObjectMeta) -> int:
    return min(int(number(metadata, EXIT_CODE) or 0), LARGEST_EXIT_CODE)


def number(metadata: ObjectMeta, key: str) -> float | None:
    """A label or annotation of a pod that is to be a number and not less than 0; None where it is none."""
    text = mark(metadata, key)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        log.warning("%s of pod %s is not a number: %.40s", key, metadata.name, text)
        return None
    return max(0.0, value)
