"""Tapes: what is not an actor is an instruction on a tape, and one loop runs it.

builder.py      `TapeBuilder`: members of a region become instructions, with memory for their results
loops.py        `LoopBuilder`: a coalesced loop becomes a tape with jumps, which pauses after some iterations
product_sum.py  `ProductSum`: a matrix to which a loop adds a product of each iteration
tape.py         `Instruction`, `Tape`, the loop in Python, and which node an error is of
writer.py       `TapeWriter`: instructions are added in sequence, and their places are numbered at the end
"""
