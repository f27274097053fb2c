"""All stories."""

from tests.sandbox.differential.corpus import (
    crud,
    custom,
    deletion,
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
    )
    for each in subject.STORIES
]
