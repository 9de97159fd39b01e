"""Membership: which tasks a cluster has at an epoch, and how tasks join and leave it while sessions live.

changes.py      `Place`, `Change`: the queue's entries that wait for a coordinator's next turn
coordinator.py  `Coordinator`: makes the views, one turn after another, each for all changes that wait by then
rounds.py       `Rounds`: questions to all members, which wait no more for a member that somebody declares lost
service.py      `Membership`: the view that a task has, and the requests that read it or change it
view.py         `View`: the members of a cluster at an epoch, a value; each change of it is a pure function
"""
