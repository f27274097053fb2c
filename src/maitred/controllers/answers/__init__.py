"""The answers over HTTP: what the scheduler knows, told to whoever may know it."""
