"""Pieces of the package that a standalone module does without, by their names: what stands in their place.

Threads, libraries in C and the log change how long a call takes, and no result.
"""

from __future__ import annotations

SUBSTITUTES: dict[str, str] = {
    "in_pieces": """
def in_pieces(work, count, key=None, whole=None):
    if whole is not None:
        whole()
        return
    for number in range(count):
        work(number)
""",
    "threaded": """
def threaded(key, work, most=1):
    return work(1)
""",
    "openblas": """
def openblas(of):
    return None
""",
    "cores": """
def cores():
    return 1
""",
    "most_threads": """
def most_threads():
    return 1
""",
    "describe": """
def describe(message, **facts):
    return message
""",
    "as_dtype": """
def as_dtype(value):
    found = np.dtype(getattr(value, "numpy_dtype", value))
    return DType(found.name, found)
""",
    "is_large": """
def is_large(given):
    return False
""",
}
"""Functions by name."""

ERROR = """
class {name}(ValueError):
    def __init__(self, message, **facts):
        super().__init__(message)
"""
"""The place of an error of actorflow's."""

DTYPE = """
class {name}:
    def __init__(self, name, numpy_dtype):
        self.name = name
        self.numpy_dtype = self.as_numpy_dtype = numpy_dtype
        self.base_dtype = self
        kind = numpy_dtype.kind
        self.is_integer, self.is_floating, self.is_complex = kind in "iu", kind == "f", kind == "c"
        self.is_bool, self.is_ref = kind == "b", False

    def __eq__(self, other):
        return isinstance(other, {name}) and self.name == other.name

    def __hash__(self):
        return hash(self.name)
"""
"""The place of an element type."""
