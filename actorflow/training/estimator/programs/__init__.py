"""The programs of an Estimator, for callers with and without `await` (see `training/monitored/commands.py`).

graphs.py      `Built` and `Graphs`: the graphs of an Estimator, kept from call to call
hosts.py       `KeptHost`: a supervisor whose session may be kept
training.py    `train`
non_finite.py  the first node that made a NaN of a loss
evaluation.py  `evaluate` and `predict`
"""
