"""How property tests run: ``ci`` finds the same examples every time, ``explore`` new ones, and more of them.

Choose by the environment variable HYPOTHESIS_PROFILE. Both print how to reproduce what they find, and neither
has a deadline: the time of one example says nothing about whether it is right.
"""

import os

from hypothesis import HealthCheck, settings

_common = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", _common, derandomize=True, database=None, max_examples=100)
settings.register_profile("explore", _common, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
