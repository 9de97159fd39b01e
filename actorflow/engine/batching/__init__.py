"""Micro-batching: requests that wait together go through one step together.

batcher.py  `Batcher`: the queue of one model
rows.py     `Batching`: sizes and bounds; the rows of a batch
"""
