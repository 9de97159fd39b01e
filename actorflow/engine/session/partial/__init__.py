"""Partial runs: one step that is fed and fetched in several calls.

execution.py   `PartialExecution`: a step that is fed and fetched while it runs
run.py         `PartialRun`: the step as its program sees it (TensorFlow's `partial_run`)
"""
