"""Sizes of the runs: NEAP_ARRAY_API=full draws many examples of each property, else a few, always the same."""
import os
import sys

from hypothesis import HealthCheck, settings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

COMMON = dict(deadline=None, database=None, suppress_health_check=list(HealthCheck))
settings.register_profile("full", max_examples=int(os.environ.get("NEAP_ARRAY_API_EXAMPLES", "150")), **COMMON)
settings.register_profile("small", max_examples=2, derandomize=True, **COMMON)
settings.load_profile("full" if os.environ.get("NEAP_ARRAY_API") == "full" else "small")
