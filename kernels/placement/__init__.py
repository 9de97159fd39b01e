"""Placement with the library in C.

simulator.py   simulated steps of placements in C: the simulator of the core, with its loop over events compiled
"""
