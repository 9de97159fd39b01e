"""Rewrites of the part of a graph that a run needs, each a pure function. `compile.py` shows their order."""
