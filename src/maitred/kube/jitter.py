"""Chance in how long to wait, so that many clients do not all come back at once.

A generator of its own: what else the process draws or seeds does not change these waits, nor they that.
"""

from random import Random

jitter = Random()
