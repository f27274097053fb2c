"""Two weeks of mixed priorities in the simulator, judged at every Plan."""
