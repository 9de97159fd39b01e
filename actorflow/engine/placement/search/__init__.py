"""The search for a better placement than the greedy placement: thousands of simulated steps, from several starts.

The same simulation tries placements and judges them. A small space is enumerated, a larger space annealed by moves on the
critical path of the present schedule. Pure and seeded: the same problem, number of trials and seed give the same placement.

annealing.py    simulated annealing over placements, by proposals and a number of trials or seconds
apart.py        `search_apart`: a search in a process of its own, so that steps and the event loop go on undisturbed
                meanwhile
by_rank.py      placement by rank: the heterogeneous earliest finish time of Topcuoglu, Hariri and Wu (2002)
codec.py        problems of searches as bytes
memory.py       `MemoryRule`: a placement fits into the devices' memory, or it is none
moves.py        proposals of changes: what lies on the critical path goes to other devices
problem.py      `SearchProblem` and `SearchResult`: what is searched and what was found, as plain numbers
search.py       `search`: enumeration or annealing, from the greedy and the present placement, single devices and splits
searched.py     `Searched`: the question, result and verdict of a search, and what they say of one node
starts.py       where a search starts: placements that are good by construction
timelines.py    simulated steps as pictures: lines of text, and SVG
"""
