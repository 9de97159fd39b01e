"""The cause of a loss that is NaN: the steps since the last checkpoint are made again, node by node, until a value is
not finite.

When the NaN is seen, the step has given it to the variables already. So the steps begin again with the values of the checkpoint,
in a session of its own that looks at each node (`PlanOptions(check_numerics=True)`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.runtime.diagnostics.numerics import NotFiniteError
from actorflow.errors import OpError, OutOfRangeError
from actorflow.graph.variables.collections import GraphKeys
from actorflow.models.train.saving.checkpoints import latest_checkpoint
from actorflow.training.estimator.programs.graphs import Built
from actorflow.training.estimator.programs.hosts import KeptHost
from actorflow.training.monitored.commands import Await, Program

if TYPE_CHECKING:
    from actorflow.training.estimator.core import Core

_LOG = get_logger("estimator")
_MOST_STEPS, _MOST_SECONDS = 100, 20.0
_OPTION = "A session_config of {'options': af.PlanOptions(check_numerics=True)} in the RunConfig stops at the first such node."


def cause(
    core: Core, built: Built, host: KeptHost, fetches: Any, feeds: Mapping[Any, Any] | None, step: int
) -> Program[str]:
    """Sentences on the first node that makes a number which is not finite.

    The steps are those of the training if its input is a Dataset. A fed batch is fed again in each, and random
    numbers are other numbers.

    Args:
        core: the Estimator.
        built: the graph of the training.
        host: what runs it.
        fetches: what a step runs.
        feeds: what the last step was fed; None where the graph has its input.
        step: the global step of the NaN.
    """
    fed = [tensor.name for tensor, value in (feeds or {}).items() if not _is_finite(value)]
    if fed:
        return f"The batch of this step is not finite, in what is fed to {', '.join(fed)}."
    if host.guard is not None or built.graph.get_collection(GraphKeys.QUEUE_RUNNERS):
        return _OPTION
    path = latest_checkpoint(core.model_dir)
    settings = core.session_options
    options = {**settings, "options": replace(settings.get("options", PlanOptions()), check_numerics=True)}
    checked = KeptHost(built, None, options, path=path, folder=core.model_dir, keeps=False, face=core.face, fresh=True)
    run = partial(_run, checked)
    origin = "initial values" if path is None else f"the checkpoint {path}"
    origin += "" if feeds is None else " and take this step's batch"
    begun, count = machine.wall_time(), 0
    try:
        yield Await(checked.start)
        steps = min(max(step - int((yield from run(built.step))), 1), _MOST_STEPS)
        _LOG.info("looking for the first node that is not finite", path=path, steps=steps)
        while count < steps and machine.wall_time() - begun < _MOST_SECONDS:
            yield from run(fetches, feeds)
            count += 1
    except NotFiniteError as error:
        return (
            f"Of steps that begin with {origin}, number {count + 1} makes the first number that is not finite. {error}"
        )
    except OutOfRangeError:
        pass
    except OpError as error:
        return f"Steps that begin with {origin} can't be made again: {error}"
    finally:
        yield Await(lambda: checked.close(save=False))
    return f"Of {count} steps that begin with {origin}, none makes such a number out of finite ones. {_OPTION}"


def _run(host: KeptHost, fetches: Any, feeds: Mapping[Any, Any] | None = None) -> Program[Any]:
    return (yield Await(lambda: host.session.run(fetches, feeds)))


def _is_finite(value: Any) -> bool:
    number = np.asarray(value)
    return number.dtype.kind not in "fc" or bool(np.isfinite(number).all())
