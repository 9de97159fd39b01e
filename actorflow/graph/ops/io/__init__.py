"""Ops of queues, readers, datasets, files and formats.

decoding.py        from byte strings to tensors: raw bytes, CSV, compressed data, `.npy`, and tensors as messages
file_pools.py      files that readers share: each is read once an epoch
files.py           files as ops: read, write, and list them on the worker (paper section 4.5)
images.py          images from byte strings, and back, by Pillow (`pip install actorflow[images]`)
iterators.py       iterators of datasets: handles, what begins them, and the next element
parsing.py         from Example messages to tensors: `parse_example` and its like, and what describes the features to find
parsing_rules.py   the ops that parse Example messages
queues.py          queues as ops: a handle, and operations on it that may wait (paper section 4.6)
readers.py         readers: they take names of files from a queue and give the files' records, a single record or many at a
                   time (paper section 4.5)
summaries.py       summaries as ops: what TensorBoard shows, as serialised messages
"""
