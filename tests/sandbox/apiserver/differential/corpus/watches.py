"""Watches: where they begin, what they leave out, and how they end."""

from dataclasses import replace

from tests.sandbox.apiserver.differential.corpus.objects import config_map, labelled, pod
from tests.sandbox.apiserver.differential.requests import (
    CONFIG_MAPS,
    PARTIAL,
    PODS,
    TABLE,
    Request,
    delete,
    get,
    patch,
    post,
    story,
    watch,
)

VERSION = "$begin.metadata.resourceVersion"
LAST = ("ADDED", "last")


def change(name: str, **labels: str | None) -> Request:
    return patch("merge", f"{CONFIG_MAPS}/{name}", {"metadata": {"labels": labels}})


def last(**labels: str) -> Request:
    return post(CONFIG_MAPS, labelled("last", **labels))


CHANGES = (
    post(CONFIG_MAPS, labelled("b", colour="red")),
    change("a", colour="blue"),
    change("b", size="2"),
    delete(f"{CONFIG_MAPS}/b"),
)
BEGIN = (post(CONFIG_MAPS, labelled("a", colour="red")), get(CONFIG_MAPS).named("begin"))

STORIES = [
    story("watch-version", *BEGIN, watch(CONFIG_MAPS, *CHANGES, last(), until=LAST, resourceVersion=VERSION)),
    story("watch-old", *BEGIN, *CHANGES, last(), watch(CONFIG_MAPS, until=LAST, resourceVersion=VERSION)),
    story("watch-zero", *BEGIN, watch(CONFIG_MAPS, *CHANGES, last(), until=LAST, resourceVersion="0")),
    story("watch-unset", *BEGIN, watch(CONFIG_MAPS, *CHANGES, last(), until=LAST)),
    story(
        "watch-selected",
        *BEGIN,
        watch(
            CONFIG_MAPS,
            *CHANGES,
            change("a", colour="red"),
            last(colour="red"),
            until=LAST,
            resourceVersion=VERSION,
            labelSelector="colour=red",
        ),
    ),
    story(
        "watch-field",
        *BEGIN,
        watch(
            CONFIG_MAPS,
            *CHANGES,
            delete(f"{CONFIG_MAPS}/a"),
            until=("DELETED", "a"),
            resourceVersion=VERSION,
            fieldSelector="metadata.name=a",
        ),
    ),
    story(
        "watch-bound",
        post(PODS, pod("a")),
        get(PODS).named("begin"),
        watch(
            PODS,
            post(f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}}),
            post(PODS, pod("last", nodeName="n1")),
            until=LAST,
            resourceVersion=VERSION,
            fieldSelector="spec.nodeName=n1",
        ),
        get(PODS).named("begin"),
        watch(
            PODS,
            delete(f"{PODS}/a"),
            delete(f"{PODS}/a", gracePeriodSeconds="0"),
            post(PODS, pod("end")),
            until=("ADDED", "end"),
            resourceVersion=VERSION,
        ),
    ),
    story(
        "watch-initial-events",
        *BEGIN,
        watch(
            CONFIG_MAPS,
            last(),
            until=LAST,
            sendInitialEvents="true",
            allowWatchBookmarks="true",
            resourceVersionMatch="NotOlderThan",
        ),
        watch(
            CONFIG_MAPS,
            post(CONFIG_MAPS, config_map("more")),
            until=("ADDED", "more"),
            sendInitialEvents="true",
            allowWatchBookmarks="true",
            resourceVersionMatch="NotOlderThan",
            resourceVersion=VERSION,
            labelSelector="!colour",
        ),
        watch(
            CONFIG_MAPS,
            post(CONFIG_MAPS, config_map("none")),
            until=("ADDED", "none"),
            sendInitialEvents="false",
            resourceVersionMatch="NotOlderThan",
            resourceVersion=VERSION,
        ),
    ),
    story(
        "watch-ends",
        *BEGIN,
        watch(CONFIG_MAPS, resourceVersion=VERSION, timeoutSeconds="1"),
        watch(CONFIG_MAPS, until=("ADDED", "a"), resourceVersion="1"),
        watch(CONFIG_MAPS, resourceVersion="99999999", timeoutSeconds="1"),
        get(CONFIG_MAPS, resourceVersion="99999999", timeoutSeconds="1"),
        get(f"{CONFIG_MAPS}/a", resourceVersion="99999999", timeoutSeconds="1"),
        watch(CONFIG_MAPS, resourceVersion="soon"),
        watch(CONFIG_MAPS, resourceVersion="-1"),
        watch(CONFIG_MAPS, labelSelector="a in ("),
        watch(CONFIG_MAPS, fieldSelector="data.x=1"),
        watch(CONFIG_MAPS, timeoutSeconds="soon"),
        watch("/api/v1/namespaces/{ns}/nothings"),
        watch(CONFIG_MAPS, resourceVersion=VERSION, limit="1", timeoutSeconds="1"),
    ),
    story(
        "watch-one",
        *BEGIN,
        get(f"{CONFIG_MAPS}/a", watch="1"),
    ),
    story(
        "watch-forms",
        *BEGIN,
        replace(
            watch(CONFIG_MAPS, change("a", colour="blue"), last(), until=LAST, resourceVersion=VERSION),
            accept=TABLE,
        ),
        replace(watch(CONFIG_MAPS, until=LAST, resourceVersion=VERSION), accept=PARTIAL),
    ),
]
