"""Queues and barriers: a pure core (`core`, `stores`, `barrier`), the waiting around it (`shared`), and the kernels."""

__all__ = ["barrier", "core", "elements", "operations", "shared", "stores", "waits"]
