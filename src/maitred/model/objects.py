"""What every kind of object is: a struct with metadata. The table of kinds is in `maitred.model.kinds`."""

from maitred.model.meta import Lean, ObjectMeta


class Object(Lean, frozen=True):
    """Base of the structs of all kinds that are read from the API or from files."""

    metadata: ObjectMeta


class Namespace(Object, frozen=True):
    pass
