"""Builders of `ai.onnx.ml`, the models and features of scikit-learn and its like.

scores.py  from scores to labels and probabilities
linear.py  linear models, support vector machines
trees.py   ensembles of trees
tables.py  scalers, encoders, imputers, maps of names to numbers
"""

from __future__ import annotations

from actorflow.exchange.onnx.builders.ml import linear, tables, trees

__all__ = ["linear", "tables", "trees"]
