"""`tf.config.threading`: numbers of threads, which are kept and have no effect: a session says `limits=`."""

from __future__ import annotations

_threads = {"inter": 0, "intra": 0}


def get_inter_op_parallelism_threads() -> int:
    """The number that was set; 0 for any."""
    return _threads["inter"]


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Keeps the number."""
    _threads["inter"] = num_threads


def get_intra_op_parallelism_threads() -> int:
    """The number that was set; 0 for any."""
    return _threads["intra"]


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Keeps the number."""
    _threads["intra"] = num_threads
