"""Placement: a device for each node, by a simulated execution of the graph (paper sections 3.2.1 and 4.3).

affinity.py         affinity: nodes that may be apart, but are better off together
choose.py           the choice among devices: company first, then the simulated execution (paper sections 3.2.1 and 4.3)
cost_model.py       what a node costs: expected from its op, types and static shapes, or measured (paper section 3.2.1)
explain.py          `explain`: why a node is on its device, as text
feasible.py         feasible devices: those that meet what all nodes of a group ask for and have kernels for them (paper section
                    4.3)
groups.py           groups: nodes that share a device because they have to, or because it costs nothing (paper section 4.3)
learned_costs.py    `CostModel`: what ops and links cost, learned from runs and kept in a file, for graphs that have never run
logical.py          logical workers: nodes that ask for a number of their job and for no task, on whichever task has it now
measuring.py        from what workers have measured to what placement takes: times and sizes for each node (paper section 3.2.1)
place.py            placement: a device for each node of the whole graph, once and for good (paper sections 3.2.1 and 4.3)
placer.py           `Placer`: the placement of one session, as it grows with its graph
ranking.py          ranks: how urgent each node of a divided graph is, by the costs that runs have measured
schedule_recvs.py   when Recvs start: as late as costs no time, so that what arrives does not lie about until it is used (paper
                    section 5.2)
search/             the search for a better placement than the greedy placement: thousands of simulated steps, from several
                    starts
simulation/         the simulated execution of a graph: what placements are judged by
study/              the expected step of a placement, as data to ask: timelines, what-if, the difference to a measured step
"""
