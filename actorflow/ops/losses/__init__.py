"""Ops of losses of models (`tf.losses`).

prediction.py   losses of predictions and of classifiers, weighted and collected (`tf.losses`)
weighted.py     what losses share: the graph's collection of them, weights and reductions (`tf.losses`)
"""
