"""Before nodes are drained: who would leave when, where to, at what cost, and who cannot."""
