"""The machine as a process has it: clocks, threads, files, and children that are forked from it.

forks.py      objects of a process in a child that was forked from it
frames.py     the parts of CPython that are no public interface, with a public way for each: frames, imports under way
interpreter.py  those of asyncio: the current task, the running loop
lanes.py      `Lane`: blocking calls of an event loop on threads, a bounded number of them at a time
machine.py    `Machine`: what a process takes from the machine it runs on
platforms.py  the platforms on which actorflow is known to work
"""
