"""`tf.distribute`: strategies that divide the work of a step among replicas, over logical workers (`af.train.Replicas`).

context.py         the strategy and the replica of the moment, and what a program asks of them
cross_device.py    sums and means of the replicas' values
cluster_resolver.py  `tf.distribute.cluster_resolver`: descriptions of clusters
experimental.py    `tf.distribute.experimental`
extended.py        `StrategyExtended`: what libraries call
inputs.py          data sets and iterators of replicas
replicas.py        a function that is called for each replica
strategies.py      the strategies
values.py          values that replicas have each their own of
"""

from __future__ import annotations

from actorflow.compat.distribute import cluster_resolver as cluster_resolver
from actorflow.compat.distribute import experimental as experimental
from actorflow.compat.distribute.context import ReplicaContext as ReplicaContext
from actorflow.compat.distribute.context import get_loss_reduction as get_loss_reduction
from actorflow.compat.distribute.context import get_replica_context as get_replica_context
from actorflow.compat.distribute.context import in_cross_replica_context as in_cross_replica_context
from actorflow.compat.distribute.cross_device import CrossDeviceOps as CrossDeviceOps
from actorflow.compat.distribute.cross_device import HierarchicalCopyAllReduce as HierarchicalCopyAllReduce
from actorflow.compat.distribute.cross_device import NcclAllReduce as NcclAllReduce
from actorflow.compat.distribute.cross_device import ReductionToOneDevice as ReductionToOneDevice
from actorflow.compat.distribute.extended import StrategyExtended as StrategyExtended
from actorflow.compat.distribute.inputs import InputContext as InputContext
from actorflow.compat.distribute.inputs import InputReplicationMode as InputReplicationMode
from actorflow.compat.distribute.strategies import MirroredStrategy as MirroredStrategy
from actorflow.compat.distribute.strategies import OneDeviceStrategy as OneDeviceStrategy
from actorflow.compat.distribute.strategies import Strategy as Strategy
from actorflow.compat.distribute.strategies import experimental_set_strategy as experimental_set_strategy
from actorflow.compat.distribute.strategies import get_strategy as get_strategy
from actorflow.compat.distribute.strategies import has_strategy as has_strategy
from actorflow.compat.distribute.values import ReduceOp as ReduceOp
from actorflow.compat.training.server import Server as Server
from actorflow.public import public

public("tf:distribute")
