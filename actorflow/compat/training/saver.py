"""`tf.train.Saver` and `tf.train.Checkpoint`: checkpoints in TensorFlow's format."""

from __future__ import annotations

from actorflow.engine.formats import installed
from actorflow.models.train.saving import checkpoint, saver
from actorflow.public import public


class _Savers(type):
    """Those that actorflow makes for a program, such as a Scaffold's, count as savers too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, saver.Saver)


@public("tf.train")
class Saver(saver.Saver, metaclass=_Savers):
    """`tf.train.Saver`: as `actorflow.train.Saver`, but what it saves are TensorFlow's files unless `format` says another.

    Example:
        >>> import os
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as blocking:
        ...     blocking.run(tf.Variable(3.0, name="v").initializer)
        ...     path = tf.train.Saver().save(blocking, "models/run", global_step=1)
        >>> path, sorted(os.listdir("models"))
        ('models/run-1', ['checkpoint', 'run-1.data-00000-of-00001', 'run-1.index', 'run-1.meta'])
    """

    default_format = installed.BUNDLE


@public("tf.train")
class Checkpoint(checkpoint.Checkpoint):
    """`tf.train.Checkpoint`: as `actorflow.train.Checkpoint`, but what it saves are TensorFlow's files, with its keys.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> path = tf.train.Checkpoint(v=tf.Variable(3.0)).save("models/run")
        >>> tf.train.list_variables(path)[-1]
        ('v/.ATTRIBUTES/VARIABLE_VALUE', [])
    """

    default_format = installed.BUNDLE
