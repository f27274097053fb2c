"""What kubectl changes."""

import re
from pathlib import Path

from tests.sandbox.apiserver.kubectl.both import Both
from tests.sandbox.apiserver.kubectl.manifests import CONFIG, GROUP, JOB, POD, several

BLUE = CONFIG.replace("red", "blue")


def test_create(both: Both) -> None:
    both("create", "-f", "-", stdin=several(POD, GROUP))
    assert "AlreadyExists" in both("create", "-f", "-", stdin=POD)
    both("create", "configmap", "literal", "--from-literal=a=b")
    both("create", "secret", "generic", "hidden", "--from-literal=a=b")
    both("create", "priorityclass", "{ns}-high", "--value=1000")
    both("create", "-f", "-", "--dry-run=server", "-o", "yaml", stdin=CONFIG)
    both("get", "configmaps,secrets", "-o", "yaml")


def test_create_job(both: Both) -> None:
    both("create", "job", "train", "--image=registry.example/work:1", "--", "sleep", "1")
    both("get", "job", "train", "-o", "yaml")
    both("delete", "job", "train", "--wait=false", "--cascade=background")


def test_run(both: Both) -> None:
    both("run", "one", "--image=registry.example/work:1", "--restart=Never", "--env=A=b", "--port=80")
    both("get", "pod", "one", "-o", "yaml")


def test_bad_manifests(both: Both) -> None:
    assert "unknown field" in both("create", "-f", "-", stdin=CONFIG + "colour: red\n")
    both("create", "-f", "-", "--validate=warn", stdin=CONFIG + "colour: red\n")
    both("apply", "-f", "-", stdin=POD.replace("500m", "much"), view=without_field)
    both("apply", "-f", "-", stdin=POD.replace("worker", "Worker_1"), view=without_words)
    both("apply", "-f", "-", stdin=CONFIG.replace("v1", "v7"))


def without_field(text: str) -> str:
    """The sandbox names the field of a value that cannot be read; the real server does not."""
    return text.replace("as a Pod: spec.containers.resources.requests: ", "as a Pod: ")


def test_apply(both: Both) -> None:
    assert "created" in both("apply", "-f", "-", stdin=CONFIG)
    assert "unchanged" in both("apply", "-f", "-", stdin=CONFIG)
    assert "configured" in both("apply", "-f", "-", stdin=BLUE)
    both("apply", "view-last-applied", "configmap", "settings")
    both("apply", "-f", "-", stdin=BLUE.replace('  size: "1"\n', ""))
    both("get", "configmap", "settings", "-o", "yaml")
    both("apply", "-f", "-", "--dry-run=server", stdin=CONFIG)


def test_apply_strategic(both: Both) -> None:
    """Of kinds whose lists merge by name, kubectl sends the difference."""
    both("apply", "-f", "-", stdin=several(POD, JOB))
    both("apply", "-f", "-", stdin=POD.replace("work:1", "work:2"))
    changed = both("apply", "-f", "-", stdin=JOB.replace("work:1", "work:2"), view=without_values)
    assert "field is immutable" in changed
    assert "Forbidden" in both("apply", "-f", "-", stdin=POD.replace("500m", "600m"), view=without_values)
    both("get", "pod", "worker", "-o", "yaml", "--show-managed-fields")


def without_values(text: str) -> str:
    """The real server shows objects as it has them in memory; the sandbox names the fields that change."""
    said = re.split(r"\n@@|(?<=Forbidden:)", text)[0]
    return re.sub(r"Invalid value: (\{.*\}|null)", "Invalid value", said)


def without_words(text: str) -> str:
    """The field and its value are the same; what is wrong with them is said in words of our own."""
    return re.sub(r'(Invalid value: "[^"]*").*', r"\1", text)


def test_apply_server_side(both: Both) -> None:
    assert "serverside-applied" in both("apply", "--server-side", "-f", "-", stdin=CONFIG)
    conflict = both("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=BLUE)
    assert "conflict with" in conflict
    both("apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-", stdin=BLUE)
    both("get", "configmap", "settings", "-o", "yaml", "--show-managed-fields")


def test_apply_server_side_after_client_side(both: Both) -> None:
    both("apply", "-f", "-", stdin=CONFIG)
    both("apply", "--server-side", "-f", "-", stdin=BLUE)
    assert "blue" in both("get", "configmap", "settings", "-o", "jsonpath={.data}")


def test_edit(both: Both) -> None:
    both("create", "-f", "-", stdin=CONFIG)
    assert "edited" in both("edit", "configmap", "settings", KUBE_EDITOR="sed -i s/red/green/")
    assert "no changes" in both("edit", "configmap", "settings", KUBE_EDITOR="true")
    assert "green" in both("get", "configmap", "settings", "-o", "yaml")


def test_patch(both: Both) -> None:
    both("create", "-f", "-", stdin=several(POD, CONFIG))
    both("patch", "configmap", "settings", "--type=merge", "-p", '{"data": {"colour": "green"}}')
    both(
        "patch",
        "configmap",
        "settings",
        "--type=json",
        "-p",
        '[{"op": "replace", "path": "/data/size", "value": "2"}]',
    )
    image = '{"spec": {"containers": [{"name": "main", "image": "registry.example/work:2"}]}}'
    both("patch", "pod", "worker", "-p", image)
    both(
        "patch",
        "pod",
        "worker",
        "--subresource=status",
        "--type=merge",
        "-p",
        '{"status": {"phase": "Running"}}',
    )
    both("patch", "pod", "worker", "-p", "{}")
    both("get", "pod/worker", "configmap/settings", "-o", "yaml")


def test_label_and_annotate(both: Both) -> None:
    both("create", "-f", "-", stdin=POD)
    both("label", "pod", "worker", "colour=red")
    assert "overwrite is false" in both("label", "pod", "worker", "colour=blue")
    both("label", "pod", "worker", "colour=blue", "--overwrite")
    both("label", "pods", "--all", "colour-")
    both("annotate", "pod", "worker", "note=a long story")
    both("annotate", "pod", "worker", "note-")
    both("label", "pod", "worker", "bad key=x", view=without_words)
    both("get", "pod", "worker", "-o", "yaml")


def test_replace(both: Both) -> None:
    both("create", "-f", "-", stdin=CONFIG)
    both("replace", "-f", "-", stdin=BLUE)
    assert "NotFound" in both("replace", "-f", "-", stdin=POD)
    both("replace", "--force", "--grace-period=0", "-f", "-", stdin=BLUE)
    both("get", "configmap", "settings", "-o", "yaml")


def test_diff(both: Both, tmp_path: Path) -> None:
    both("apply", "-f", "-", stdin=CONFIG)
    file = tmp_path / "settings.yaml"
    file.write_text(BLUE)
    assert "+  colour: blue" in both("diff", "-f", str(file), KUBECTL_EXTERNAL_DIFF="diff -u")


def test_delete(both: Both) -> None:
    both("create", "-f", "-", stdin=several(POD, CONFIG, JOB))
    both("delete", "pod", "worker", "--wait=true", "--timeout=20s")
    both("delete", "configmaps", "-l", "app=none")
    both("delete", "configmap", "settings", "--dry-run=server")
    both("delete", "configmap", "settings", "--cascade=foreground", "--wait=false")
    both("get", "configmap", "settings", "-o", "jsonpath={.metadata.finalizers}")
    both("delete", "jobs", "--all", "--cascade=orphan", "--wait=false")
    assert "NotFound" in both("delete", "pod", "worker")
    both("delete", "pod", "worker", "--ignore-not-found")


def test_set_and_scale_what_has_no_scale(both: Both) -> None:
    both("create", "-f", "-", stdin=several(POD, JOB))
    both("set", "image", "pod/worker", "main=registry.example/work:3")
    both("scale", "job", "train", "--replicas=3")
