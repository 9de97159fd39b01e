"""Queues and barriers: a pure core (`core`, `stores`, `barrier`), the waiting around it (`shared`), and the kernels.

barrier.py      A barrier: elements whose components arrive singly under a key, and are taken when they are complete
core.py         what a queue is, without waiting: its elements, the attempts that could not be finished yet, and whether it is
                closed
elements.py     what the elements of a queue are, and how they become batches: checked, cut, padded and stacked
operations.py   queues and barriers
shared.py       queues among steps: attempts that can't be finished yet wait as futures, of whatever event loops
stores.py       the orders in which queues give their elements back: first in first out, at random, by priority
waits.py        what an operation on a queue or barrier waits for, in words
"""

__all__ = ["barrier", "core", "elements", "operations", "shared", "stores", "waits"]
