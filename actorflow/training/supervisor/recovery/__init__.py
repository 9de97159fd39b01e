"""From a loss to the step after the last checkpoint.

attempts.py             `Attempt`: one step of a training loop under a supervisor
chief_failure.py        `ChiefWait`: a worker's wait for its chief, which says why the chief failed
epochs.py               `EpochStore`: the last epoch that the chief has given, in the checkpoint folder, so that none is given
                        twice
failure_classifier.py   `FailureClassifier`: whether an error of a run is a loss, which is no concern of the program's, or the
                        program's own
manager.py              `RecoveryManager`: from a loss to the next epoch
members.py              `Members`: the views of the cluster: tasks that join are watched, and tasks that leave are not lost
restarts.py             `RestartPolicy`: how often a task is started again, and after which pause
run_gate.py             `RunGate`: what runs of a session pass
"""
