"""The simulated execution of a graph: what placements are judged by.

greedy.py       the greedy placement: a simulated execution that decides on its way where groups go (paper section 3.2.1)
link_costs.py   links: what it takes to get a tensor from one device to another, as placement expects it
makespan.py     `makespan`: how long the step of a placement takes, by its simulated execution (paper section 3.2.1)
simulator.py    `Simulator`: the simulated execution of a placement, event by event, and again from where a change begins to
                matter
timeline.py     `StepTimeline`: a simulated step, node by node, and the states from which it can be simulated again
workload.py     `Workload`: a graph as the simulation of its execution wants it, numbers for names
"""
