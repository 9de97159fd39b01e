"""The part of a graph that a run needs, and questions about it.

ancestry.py      what may hold a node up or kill it: the asynchronous nodes, and the sources of dead tokens, among its ancestors
chains.py        chains: a few ops in a row that compute a function for which there is one kernel, and the forms in which
                 programs write them
cooperative.py   pauses for others: a plan of a large graph is made on a thread of its own, which gives the interpreter up often
duplicates.py    duplicates: nodes that compute what an earlier one computes (paper section 5.1)
feeding.py       what feeds change for the rest of the graph: which may be fed at all, and which static shapes no longer hold
frames.py        frames: which loop each node runs in, decided by the graph alone (paper section 4.4)
inline.py        calls of functions: each becomes a copy of the function's body (`actorflow.graph.control_flow.function`)
patterns.py      patterns: a few ops in a row as text, and the search for them among nodes
prune.py         reverse reachability: a run executes exactly the ancestors of its fetches and targets (paper sections 2 and
                 4.2)
specialise.py    static shapes in the body of a function, for the shapes that one call gives to it
subgraph.py      `Subgraph`: what passes read and write, the nodes that one signature of a run needs
"""
