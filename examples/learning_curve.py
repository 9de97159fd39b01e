"""The learning curve of an Estimator as a picture: the loss of its steps, and a metric of its evaluations.

The examples with Estimators draw theirs by it, where matplotlib is installed. `python examples/learning_curve.py` shows which
events it takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from actorflow.estimator import Evaluated, StepMade


def draw(events: Iterable[Any], metric: str, path: Path) -> bool:
    """Draws a training.

    Args:
        events: those of an Estimator, such as its `history`.
        metric: the name of a metric.
        path: the picture, a PNG.

    Returns:
        Whether there is a picture; there is none of a training without steps, and without matplotlib.
    """
    events = list(events)
    steps = [event for event in events if isinstance(event, StepMade)]
    evaluations = [event for event in events if isinstance(event, Evaluated) and metric in event.metrics]
    if not steps or find_spec("matplotlib") is None:
        return False
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, left = pyplot.subplots(figsize=(7, 4), layout="constrained")
    left.plot([event.step for event in steps], [event.loss for event in steps], color="0.6", linewidth=1, label="loss")
    left.set(xlabel="global step", ylabel="loss of a step", yscale="log")
    right = left.twinx()
    values = [float(event.metrics[metric]) for event in evaluations]
    right.plot([event.step for event in evaluations], values, "o-", color="tab:blue", label=metric)
    right.set(ylabel=f"{metric} of the test")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return True


if __name__ == "__main__":
    print(StepMade.__doc__, Evaluated.__doc__, sep="\n\n")
