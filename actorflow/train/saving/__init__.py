"""Savers and checkpoints by path.

checkpoint_init.py   `init_from_checkpoint`: variables that begin with values of a checkpoint (`tf.train.init_from_checkpoint`)
checkpoints.py       checkpoints by path: which there are, which is the latest, and what is in one (`tf.train.latest_checkpoint`
                     and others)
saver.py             `Saver`: saves variables to checkpoints, restores them, and keeps as many as are wanted (`tf.train.Saver`)
"""
