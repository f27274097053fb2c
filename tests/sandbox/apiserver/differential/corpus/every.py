"""All stories."""

from tests.sandbox.apiserver.differential.corpus import (
    answers,
    crud,
    custom,
    deletion,
    devices,
    discovery,
    lists,
    negotiation,
    oddities,
    patches,
    subresources,
    validation,
    watches,
)

STORIES = [
    each
    for subject in (
        discovery,
        crud,
        lists,
        watches,
        patches,
        deletion,
        subresources,
        validation,
        negotiation,
        custom,
        oddities,
        devices,
        answers,
    )
    for each in subject.STORIES
]
