"""Placement by measured costs, and the search for one."""
