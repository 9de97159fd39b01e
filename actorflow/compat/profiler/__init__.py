"""`tf.profiler`: parameters, float operations, times and memory of a graph's nodes, by their names or by their types.

flops.py    the float operations of a node, as TensorFlow counts them
options.py  `ProfileOptionBuilder`
profile.py  `profile` and `Profiler`
tree.py     nodes with the totals of those below them, and their report
"""

from __future__ import annotations

from actorflow.compat.names.refused import absent
from actorflow.compat.profiler.options import ProfileOptionBuilder as ProfileOptionBuilder
from actorflow.compat.profiler.profile import Profiler as Profiler
from actorflow.compat.profiler.profile import profile as profile
from actorflow.compat.profiler.tree import GraphNodeProto as GraphNodeProto
from actorflow.compat.profiler.tree import MultiGraphNodeProto as MultiGraphNodeProto
from actorflow.public import public

public("tf:profiler")

__getattr__ = absent("profiler", __name__)
