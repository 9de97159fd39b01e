"""Optimizers: from a loss to operations that change variables.

all_reduce.py        `ring_all_reduce`: the sum of tensors of several devices, on all of them, without a server in the middle
application.py       `UpdateApplication`: how a variable is changed by its gradient, and what an optimizer keeps for each variable
learning_rates.py    learning rates that change with the global step (`tf.train.exponential_decay` and its like)
moving_averages.py   `ExponentialMovingAverage`: shadows of variables that follow them slowly
                     (`tf.train.ExponentialMovingAverage`)
optimizer.py         `Optimizer`: from a loss to an operation that changes variables (`tf.train.Optimizer`)
optimizers.py        the optimizers: gradient descent, momentum, Adagrad, Adadelta, RMSProp, Adam
proximal.py          optimizers that shrink weights to zero: proximal gradient descent and Adagrad, dual averaging, FTRL
slot_creator.py      slots: the variables that an optimizer keeps for each variable that it changes (`tf.train.slot_creator`)
sync_replicas.py     `SyncReplicasOptimizer`: synchronous training of several workers (paper section 7;
                     `tf.train.SyncReplicasOptimizer`)
"""
