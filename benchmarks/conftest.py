"""Real data for benchmarks, found and unpacked as for the tests."""

from tests.conftest import real_data, round1_runs, round5_runs

__all__ = ["real_data", "round1_runs", "round5_runs"]
