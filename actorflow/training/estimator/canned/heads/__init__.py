"""Heads: from logits to a loss, predictions and metrics.

head.py          `Head`: what all heads have
shapes.py        logits, labels, weights and losses whose shapes are checked
classes.py       names of classes, signatures of classifiers, and metrics from thresholds on
class_heads.py   the heads of exclusive classes
label_heads.py   the head of independent classes
number_heads.py  the heads of regressions
multi_head.py    several heads on one model
"""
