"""What real objects carry besides what a decision reads: a reader has to pass over all of it."""

from typing import Any

from benchmarks.objects import CREATED, Obj

IMAGES_PER_NODE = 12


def dressed_node(node: Obj, number: int) -> Obj:
    name = node["metadata"]["name"]
    status = {
        **node["status"],
        "addresses": [
            {"type": "InternalIP", "address": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"},
            {"type": "Hostname", "address": name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "images": [image(number + offset * offset) for offset in range(IMAGES_PER_NODE)],
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": f"b0071d00-0000-4000-8000-{number:012}",
            "containerRuntimeVersion": "containerd://2.1.4",
            "kernelVersion": "6.8.0-1031-generic",
            "kubeletVersion": "v1.36.4",
            "machineID": f"{number:032x}",
            "operatingSystem": "linux",
            "osImage": "Ubuntu 24.04.3 LTS",
            "systemUUID": f"{number:032x}",
        },
    }
    return with_managers({**node, "status": status}, "kubelet")


def image(number: int) -> Obj:
    """One of 200 images, by digest and by tag."""
    number %= 200
    repository = f"registry.example.com/ml/image-{number}"
    return {
        "names": [f"{repository}@sha256:{number:064x}", f"{repository}:v{number % 7}.{number % 11}"],
        "sizeBytes": 25_000_000 + number * 61_234_567,
    }


def dressed_pod(pod: Obj, number: int) -> Obj:
    return with_managers(with_status(pod, number), "kube-controller-manager")


def with_status(pod: Obj, number: int) -> Obj:
    """As it is after creation, once it is bound, or once the kubelet has started it."""
    status: Obj = dict(pod["status"])
    if "nodeName" in pod["spec"]:
        status["conditions"] = [pod_condition("PodScheduled")]
    if status["phase"] == "Running":
        status |= {
            "hostIP": "10.0.1.2",
            "podIP": f"10.128.{number >> 8 & 255}.{number & 255}",
            "podIPs": [{"ip": f"10.128.{number >> 8 & 255}.{number & 255}"}],
            "startTime": CREATED,
            "conditions": [pod_condition(kind) for kind in STARTED],
            "containerStatuses": [started(container, number) for container in pod["spec"]["containers"]],
        }
    return {**pod, "status": status}


STARTED = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def pod_condition(kind: str) -> Obj:
    return {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": CREATED}


def started(container: Obj, number: int) -> Obj:
    return {
        "name": container["name"],
        "containerID": f"containerd://{number:064x}",
        "image": container["image"],
        "imageID": f"{container['image']}@sha256:{number % 200:064x}",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "lastState": {},
        "state": {"running": {"startedAt": CREATED}},
    }


def with_managers(item: Obj, creator: str) -> Obj:
    """Field ownership as the API server tracks it: one entry for the creator, one for the status."""
    owned = {key: value for key, value in item["metadata"].items() if key in ("labels", "annotations")}
    parts = {"": {"metadata": owned, "spec": item["spec"]}, "status": {"status": item["status"]}}
    entries = [
        {
            "manager": "kubelet" if part else creator,
            "operation": "Update",
            "apiVersion": "v1",
            "time": CREATED,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields_of(content),
            **({"subresource": part} if part else {}),
        }
        for part, content in parts.items()
    ]
    return {**item, "metadata": {**item["metadata"], "managedFields": entries}}


def fields_of(value: Any) -> Obj:
    if isinstance(value, dict):
        return {f"f:{key}": fields_of(inner) for key, inner in value.items()}
    found: Obj = {}
    for item in value if isinstance(value, list) else ():
        key = next((key for key in ("name", "type") if isinstance(item, dict) and key in item), "")
        if key:
            found[f'k:{{"{key}":"{item[key]}"}}'] = {".": {}, **fields_of(item)}
    return found
