"""Savers and checkpoints by path.

checkpoint.py        `Checkpoint`: the variables of a program's objects in files, by the ways to them (`tf.train.Checkpoint`)
checkpoint_init.py   `init_from_checkpoint`: variables that begin with values of a checkpoint (`tf.train.init_from_checkpoint`)
checkpoint_manager.py  `CheckpointManager`: the latest few checkpoints of objects in a folder (`tf.train.CheckpointManager`)
checkpoints.py       checkpoints by path: which there are, which is the latest, and what is in one (`tf.train.latest_checkpoint`
                     and others)
homes.py             the tasks on which the variables of a session are
kept_checkpoints.py  `KeptCheckpoints`: the checkpoints that a saver or a manager has made and not removed, and which become too
                     many
meta_graph.py        graphs with their savers and collections: `export_meta_graph`, `import_meta_graph`, the `.meta` files
objects.py           the variables of a program's objects, each by the way to it: `model/layers/0/kernel`
object_graph.py      TensorFlow's checkpoints of objects: their keys, and the message that says which object has which
saved_variables.py   variables by the names that they have in a checkpoint, with their slices
saver.py             `Saver`: saves variables to checkpoints, restores them, and keeps as many as are wanted (`tf.train.Saver`)
signatures.py        the names of inputs and outputs that go into a checkpoint's `.meta` file
"""
