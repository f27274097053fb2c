"""A program that runs beside a cluster of ours, and not in a pod, behind a Service of it all the same.

An API server proxies to pods only, and to no address that means something else on every machine. So a pod is
written that nothing runs, with an address of this machine.
"""

import socket

from maitred.sandbox.world.objects import Json, WorldObjects

ELSEWHERE = "192.0.2.1"
"""Reserved for documentation: nobody is there, and nothing is sent."""
OUTPOST = "maitred-outpost"
NOT_OUTPOSTS = {"fieldSelector": f"spec.schedulerName!={OUTPOST}"}
"""Nobody seats them, and they are on no floor."""
IMAGE = "registry.example.com/not-run"


def is_outpost(body: Json) -> bool:
    return bool(body["kind"] == "Pod" and body.get("spec", {}).get("schedulerName") == OUTPOST)


def own_address() -> str | None:
    """Of this machine, as others see it; None if it is on no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((ELSEWHERE, 9))
            address = str(probe.getsockname()[0])
        except OSError:
            return None
    return None if address.startswith("127.") else address


async def register(objects: WorldObjects, namespace: str, service: str, port: Json, address: str) -> None:
    """`port`: its name and number. The Service needs no selector; one that has one is not changed."""
    await objects.apply(pod(namespace))
    path = await objects.path(pod(namespace), "status")
    # It has succeeded, so that nobody looks for a place for it.
    status = {"phase": "Succeeded", "podIP": address, "podIPs": [{"ip": address}]}
    await objects.patch(path, {"status": status})
    target = {"kind": "Pod", "name": OUTPOST, "namespace": namespace}
    await objects.apply(
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": OUTPOST,
                "namespace": namespace,
                "labels": {"kubernetes.io/service-name": service},
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": [address], "targetRef": target}],
            "ports": [port],
        }
    )


async def register_as_of_old(
    objects: WorldObjects, namespace: str, service: str, port: Json, address: str
) -> None:
    """For an API server before 1.37, which looks at Endpoints."""
    target = {"kind": "Pod", "name": OUTPOST, "namespace": namespace}
    await objects.apply(
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {
                "name": service,
                "namespace": namespace,
                "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
            },
            "subsets": [{"addresses": [{"ip": address, "targetRef": target}], "ports": [port]}],
        }
    )


def pod(namespace: str) -> Json:
    """As strict as any namespace may ask for."""
    container = {
        "name": "outpost",
        "image": IMAGE,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    safely = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": OUTPOST, "namespace": namespace},
        "spec": {"schedulerName": OUTPOST, "securityContext": safely, "containers": [container]},
    }
