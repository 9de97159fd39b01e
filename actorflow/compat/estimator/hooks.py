"""Hooks under the names that they have in `tf.estimator` as well."""

from __future__ import annotations

from actorflow.public import public
from actorflow.training.monitored import hook
from actorflow.training.monitored.hooks import feeding, logged, saving, stopping, summaries, timer

public(
    "tf.estimator",
    of="CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook "
    "GlobalStepWaiterHook LoggingTensorHook NanLossDuringTrainingError NanTensorHook "
    "ProfilerHook SecondOrStepTimer SessionRunArgs SessionRunContext SessionRunHook "
    "SessionRunValues StepCounterHook StopAtStepHook SummarySaverHook",
)

CheckpointSaverHook = saving.CheckpointSaverHook
CheckpointSaverListener = saving.CheckpointSaverListener
FeedFnHook = feeding.FeedFnHook
FinalOpsHook = feeding.FinalOpsHook
GlobalStepWaiterHook = stopping.GlobalStepWaiterHook
LoggingTensorHook = logged.LoggingTensorHook
NanLossDuringTrainingError = stopping.NanLossDuringTrainingError
NanTensorHook = stopping.NanTensorHook
ProfilerHook = summaries.ProfilerHook
SecondOrStepTimer = timer.SecondOrStepTimer
SessionRunArgs = hook.SessionRunArgs
SessionRunContext = hook.SessionRunContext
SessionRunHook = hook.SessionRunHook
SessionRunValues = hook.SessionRunValues
StepCounterHook = logged.StepCounterHook
StopAtStepHook = stopping.StopAtStepHook
SummarySaverHook = summaries.SummarySaverHook
