"""The scheduler: watch, decide, bind, and say what came of it."""
