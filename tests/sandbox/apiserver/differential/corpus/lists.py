"""Lists: selectors, pages, and how new they must be."""

from tests.sandbox.apiserver.differential.corpus.objects import config_map, labelled, node, pod
from tests.sandbox.apiserver.differential.requests import (
    CONFIG_MAPS,
    NODES,
    PODS,
    delete,
    get,
    patch,
    post,
    story,
)

LABELS = (
    "colour=red",
    "colour==red",
    "colour!=red",
    "colour in (red, blue)",
    "colour notin (red)",
    "colour",
    "!colour",
    "colour=red,size=2",
    "colour=",
    "colour in ()",
    "colour=red,,",
    "-bad-=x",
    "colour=a b",
    "colour like red",
    "colour in (red",
)
FIELDS = (
    "metadata.name=a",
    "metadata.name!=a",
    "metadata.namespace={ns}",
    "metadata.name=a,metadata.namespace=other",
    "metadata.uid=x",
    "data.x=1",
    "metadata.name",
    "metadata.name in (a)",
)
POD_FIELDS = (
    "spec.nodeName=",
    "spec.nodeName=n1",
    "status.phase=Pending",
    "status.phase!=Pending",
    "spec.schedulerName=default-scheduler",
    "spec.restartPolicy=Always",
    "spec.serviceAccountName=",
    "status.podIP=",
    "status.nominatedNodeName=",
    "spec.hostNetwork=true",
    "spec.priority=0",
)
SOME = (
    labelled("a", colour="red", size="1"),
    labelled("b", colour="red", size="2"),
    labelled("c", colour="blue", size="3"),
    config_map("d"),
)

STORIES = [
    story(
        "label-selectors",
        *(post(CONFIG_MAPS, body) for body in SOME),
        get(CONFIG_MAPS),
        *(get(CONFIG_MAPS, labelSelector=chosen) for chosen in LABELS),
    ),
    story(
        "field-selectors",
        *(post(CONFIG_MAPS, body) for body in SOME),
        *(get(CONFIG_MAPS, fieldSelector=chosen) for chosen in FIELDS),
        get(CONFIG_MAPS, fieldSelector="metadata.name!=a", labelSelector="colour=red"),
    ),
    story(
        "pod-selectors",
        post(PODS, pod("a")),
        post(PODS, pod("b", nodeName="n1", schedulerName="maitred")),
        *(get(PODS, fieldSelector=chosen) for chosen in POD_FIELDS),
        get("/api/v1/pods", fieldSelector="metadata.namespace={ns}"),
        post(NODES, node("{ns}-n", unschedulable=True)),
        get(NODES, fieldSelector="spec.unschedulable=true,metadata.name={ns}-n"),
        get(NODES, fieldSelector="status.phase=x"),
    ),
    story(
        "pages",
        *(post(CONFIG_MAPS, body) for body in SOME),
        get(CONFIG_MAPS, limit="3").named("one"),
        get(CONFIG_MAPS, limit="3", **{"continue": "$one.metadata.continue"}),
        get(CONFIG_MAPS, limit="2").named("half"),
        post(CONFIG_MAPS, config_map("late")),
        delete(f"{CONFIG_MAPS}/c"),
        get(CONFIG_MAPS, limit="2", **{"continue": "$half.metadata.continue"}),
        get(CONFIG_MAPS, limit="1", labelSelector="colour").named("chosen"),
        get(CONFIG_MAPS, limit="1", labelSelector="colour", **{"continue": "$chosen.metadata.continue"}),
        get(CONFIG_MAPS, limit="100"),
        get(CONFIG_MAPS, limit="0"),
        get(CONFIG_MAPS, limit="-1"),
        get(CONFIG_MAPS, limit="many"),
        get(CONFIG_MAPS, **{"continue": "nonsense"}),
        get(CONFIG_MAPS, limit="2", resourceVersion="1", **{"continue": "$half.metadata.continue"}),
    ),
    story(
        "list-versions",
        post(CONFIG_MAPS, config_map("a", x="1")).named("first"),
        patch("merge", f"{CONFIG_MAPS}/a", {"data": {"x": "2"}}).named("second"),
        post(CONFIG_MAPS, config_map("b")),
        get(CONFIG_MAPS),  # After this the real server's cache has it all, too.
        get(CONFIG_MAPS, resourceVersion="0"),
        get(CONFIG_MAPS, resourceVersion="$first.metadata.resourceVersion"),
        get(
            CONFIG_MAPS,
            resourceVersion="$first.metadata.resourceVersion",
            resourceVersionMatch="NotOlderThan",
        ),
        get(CONFIG_MAPS, resourceVersion="0", resourceVersionMatch="NotOlderThan"),
        get(CONFIG_MAPS, resourceVersion="soon"),
        get(CONFIG_MAPS, resourceVersion="-1"),
        get(f"{CONFIG_MAPS}/a", resourceVersion="0"),
        get(f"{CONFIG_MAPS}/a", resourceVersion="$second.metadata.resourceVersion"),
    ),
]
