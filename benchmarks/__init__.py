"""The costs of actorflow, measured beside TensorFlow in graph mode.

    python -m benchmarks                            everything
    python -m benchmarks chains mlp --quick         two families, fewer rounds
    python -m benchmarks chains --null peer         the peer against itself: the ratio has to be 1
    python -m benchmarks mlp --alone peer           one side only: times, no ratio

`README.md` in this folder says how the numbers are made and how to read them; `results/` holds the last ones.
Nothing outside the standard library is imported by the parent process, and nothing at import time by the workers, so
that each worker starts as a user's process would.
"""
