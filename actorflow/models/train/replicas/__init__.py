"""Logical workers: shares of a batch that any number of tasks computes with the same bits.

batch_shares.py  `BatchShares`: a batch divided among the workers, and the mean of what they compute
changes.py       `Changes`: the changes that several workers make to a variable become a single change
replicas.py      `Replicas`: from a function for one worker to the graph of all
towers.py        `Towers`: the scopes in which the graph of each worker is built
"""
