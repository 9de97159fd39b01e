"""Kernels of queues, readers, files and formats.

columns.py        many Example messages read at once, in step
decoding.py       decode byte strings
file_pools.py     files that readers share: a reader that has to wait for others holds no thread
files.py          touch files
images.py         images, which Pillow decodes and encodes on the host
iterators.py      iterators of datasets: the next element is waited for without a thread
parsing.py        parse Example messages, on the host
readers.py        readers: handles, reads, and the state that a checkpoint keeps
summaries.py      summaries, on the host
queues/           queues and barriers: a pure core (`core`, `stores`, `barrier`), the waiting around it (`shared`), and the
                  kernels
"""
