"""Membership: which tasks a cluster has at an epoch, and how tasks join and leave it while sessions live.

rounds.py   `Rounds`: questions to all members, which wait no more for a member that somebody declares lost
service.py  `Membership`: the view that a task has, and the requests that read it or, at the coordinator, change it
view.py     `View`: the members of a cluster at an epoch, a value; each change of it is a pure function
"""
