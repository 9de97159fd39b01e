"""Other libraries' names over actorflow's.

door/    `import tensorflow` over actorflow: its modules, and the command `actorflow tf`
autograph/  `tf.autograph`: Python's control flow on tensors
contrib/  `tf.contrib`: the parts that programs use
distribute/  `tf.distribute`: strategies, over logical workers
estimator/  `tf.estimator`: Estimators with TensorFlow's arguments
flags/   the parts of the flags of `tf.flags`
files/   `tf.gfile` and `tf.io.gfile`
names/   names of TensorFlow 1.15 that actorflow has no own counterpart of
nodes/   nodes of TensorFlow's graphs whose ops actorflow does not have
profiler/  `tf.profiler`: parameters, operations, times and memory
ragged/  `tf.ragged`: rows of several lengths
training/  training's classes with TensorFlow's arguments
v0/      names of TensorFlow 0.x
v1/      names of TensorFlow 1.15
"""
