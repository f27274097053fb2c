"""All stories."""

from tests.sandbox.differential.corpus import (
    crud,
    custom,
    deletion,
    discovery,
    lists,
    negotiation,
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
    )
    for each in subject.STORIES
]
