"""The lint: what a graph's runs do that their program can't mean.

forgotten_updates.py  updates of layers that a training step leaves behind
happens_before.py     which nodes run before which, whatever the order of the ready queue
races.py              the race lint: accesses of one variable that nothing orders, so that a run may give one result or another
"""
