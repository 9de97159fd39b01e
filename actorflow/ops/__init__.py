"""The declarations of all ops, and the public functions over them."""
