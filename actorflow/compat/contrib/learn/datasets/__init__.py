"""Data sets of tutorials, as `tf.contrib.learn.datasets` has them.

mnist.py  the handwritten digits
"""

from actorflow.compat.contrib.learn.datasets import mnist as mnist


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> object:
    """The data set of a name; there is `mnist`. Raises ValueError for another."""
    if name != "mnist":
        raise ValueError(f"There is no data set {name!r} here; there is 'mnist'.")
    return mnist.load_mnist()
