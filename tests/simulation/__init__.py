"""Whole workloads in simulated clusters, with faults from a seed, and the rules that hold whatever befalls them.

`python -m simulation --seeds 100` (with `tests` on the path; `make simulate SEEDS=100`) runs seeds in all processors at once
and prints how often which fault met which phase of the work. `--seed 17 --show` runs one of them and shows its events.
"""
