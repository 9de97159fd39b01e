"""Rounds in turns, their processes, and what is stored: how a figure is made."""
