"""Tapes: what is not an actor is an instruction on a tape, and one loop runs it.

builder.py      `TapeBuilder`: members of a region become instructions, with places for their tensors and memory for their results
tape.py         `Instruction`, `Tape`, the loop in Python, and which node an error is of
"""
