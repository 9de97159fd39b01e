"""Ops one by one, and control flow."""
