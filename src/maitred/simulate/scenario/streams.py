"""Where chance comes from: one seed, and a stream of its own for everything that is drawn."""

from dataclasses import dataclass

from numpy.random import Generator, SeedSequence, default_rng

__all__ = ["Generator", "Streams"]


@dataclass(frozen=True, slots=True)
class Streams:
    """Streams are told apart by name, so that what is drawn for one thing never moves what another gets."""

    seed: int

    def of(self, *name: str) -> Generator:
        return default_rng(SeedSequence(self.seed, spawn_key=tuple("/".join(name).encode())))
