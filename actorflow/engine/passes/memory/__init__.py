"""Memory: how long tensors live, and passes that make a step run in less.

budget.py      what the passes do about a device's memory: which of them run, and when (paper section 4.1)
lifetimes.py   how long tensors live: what a part of a graph takes of its device's memory, for any order in which its nodes may
               run
order.py       the order in which a device's nodes run, chosen so that less memory is in use at once (paper section 4.1)
rematerialize.py   tensors that are made a second time instead of being kept (paper section 4.1)
swap.py        tensors that leave for the host between two uses: how a step runs in less memory than its tensors take (paper
               section 4.1)
"""
