"""Programs that train: over failures, in steps with hooks, by estimators.

estimator/   estimators (`af.estimator`)
monitored/   sessions with hooks, which begin again after a failure
supervisor/  heartbeats, abort and restart, periodic saves (`af.supervisor`)
"""
