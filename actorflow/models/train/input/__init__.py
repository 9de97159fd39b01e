"""Queues of examples, and the tasks and threads that fill them.

batching.py       batches of examples, in order or shuffled, from queues that runners fill (`tf.train.batch` and its kin)
coordinator.py    `Coordinator`: lets threads, or tasks, that work together end together (`tf.train.Coordinator`)
fullness.py       summaries of how full the queues are
input.py          producers: queues that give the rows of a tensor again and again (`tf.train.*_input_producer`), and `prefetch`
looper.py         `LooperThread`: a thread that does something again and again until a coordinator stops it
queue_runner.py   `QueueRunner`: keeps a queue full, by running its enqueue operations over and over (`tf.train.QueueRunner`)
sparse_examples.py  sparse tensors of examples in queues: as three strings
"""
