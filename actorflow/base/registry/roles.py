"""The roles of ops: what the runtime, the passes and sessions treat apart, as the ops declare it.

Code that asks for a role holds for each op that declares it, under whatever name. Rules that rewrite ops, such as those of
fusion, name the ops instead: that a MatMul becomes a product with a bias is a statement about MatMul.
"""

from __future__ import annotations


class Role:
    """A part that an op plays for the runtime, passes and sessions: one of the objects below."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> str:
        """Copied and pickled as this module's object, so that `is` tells roles apart."""
        return self.name

    def __repr__(self) -> str:
        return f"roles.{self.name}"


CONSTANT = Role("CONSTANT")
"""Its output is the node's attribute `value`."""
IDENTITY = Role("IDENTITY")
"""Its output is its input."""
LOGIC = Role("LOGIC")
"""Computes a boolean of booleans."""
PLACEHOLDER = Role("PLACEHOLDER")
"""Stands for what is fed."""
SWITCH = Role("SWITCH")
"""Sends its first input to one of two outputs, as its second input says."""
MERGE = Role("MERGE")
"""Forwards the input that comes first, and the input's number."""
ENTER = Role("ENTER")
"""Brings a token into the loop of its attribute `frame_name`."""
EXIT = Role("EXIT")
"""Brings a token out of a loop."""
NEXT_ITERATION = Role("NEXT_ITERATION")
"""Brings a token into the next iteration of a loop."""
LOOP_CONDITION = Role("LOOP_CONDITION")
"""Says whether a loop goes on."""
TRIGGER = Role("TRIGGER")
"""Fires behind its control inputs, be they dead or alive."""
SEND = Role("SEND")
"""Gives a tensor to another device, under the key of an edge."""
RECV = Role("RECV")
"""Waits for the tensor of an edge that comes from another device."""
SWAP_OUT = Role("SWAP_OUT")
"""Moves a tensor from its device's memory to the host's."""
SWAP_IN = Role("SWAP_IN")
"""Brings a tensor back that was swapped out."""
REGION = Role("REGION")
"""Stands for several nodes that run as one kernel."""
LOOP = Role("LOOP")
"""Stands for a loop that runs as one kernel."""
CALL = Role("CALL")
"""Stands for a copy of a function's body."""
ARGUMENT = Role("ARGUMENT")
"""An input of a function's body."""
RETURN = Role("RETURN")
"""The outputs of a function's body."""
VARIABLE = Role("VARIABLE")
"""Gives the handle of a variable."""
READ = Role("READ")
"""Reads a variable."""
READ_OR = Role("READ_OR")
"""Reads a variable, or gives another value where that has none."""
IS_INITIALIZED = Role("IS_INITIALIZED")
"""Says whether a variable has a value."""
SESSION_HANDLE = Role("SESSION_HANDLE")
"""Keeps a tensor in the session, and gives its handle."""
