"""Runs a graph in one process: devices, placement, passes, plans, actors, sessions, and ops that run at once.

batching/   requests that wait together go through one step together
device/     the interface of devices, and how they are found
eager/      ops that run at once, tapes and functions
formats/    the interface of formats of checkpoints, and how they are found
passes/     rewrites between a graph and its plan, each a pure function
placement/  a device for each node
runtime/    plans, steps, actors and tapes
session/    a client's runs
transport/  the interface of channels between processes, and how they are found
"""
