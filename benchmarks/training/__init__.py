"""Estimators and checkpoints."""
