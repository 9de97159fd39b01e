"""Metrics over many batches (`tf.metrics`).

Each function gives two tensors: the value so far, and an update, which adds a batch and gives the value after it. All state is
sums, in local variables that start at 0 (`af.local_variables_initializer()`) and are set back by `af.metrics.reset()`. An update
only adds to them, in whatever order. So several tasks may share one evaluation: with the variables on one task, each runs the
update on its part of the batches, and the value is that of all of them.

classes.py     metrics of several classes: the accuracy of each, and how far each overlaps with what was found
counts.py      counts of right and wrong answers to yes-or-no questions, and the precision and recall that they make
means.py       means of what batches bring: of values, of errors, of correct answers
ranking.py     metrics of ranked answers: precision, recall and average precision of the best k
streaming.py   what they share: the sums, their reset, and labels, predictions and weights of one rank
thresholds.py  metrics of probabilities: counts, precision and recall at thresholds, and areas under curves
"""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.metrics", __name__)
