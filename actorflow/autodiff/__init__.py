"""Derivatives by extending the graph (paper section 4.1)."""
