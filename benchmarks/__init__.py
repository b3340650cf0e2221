"""Timings and peak memory, side by side with what they are compared with: `python -m benchmarks`."""
