"""Monitored training: one loop with hooks, for estimators and monitored sessions (`tf.train.MonitoredTrainingSession`).

The loop is a generator that says what it waits for and waits for nothing itself. So the same loop serves callers with `await` and
those without, and hooks are called in the thread of their user.

commands.py            programs: generators that yield what they wait for, and what runs them
hook.py                `SessionRunHook`, and what it is given
loop.py                `MonitoredLoop`: steps with hooks, done again after a loss
hooks/                 the hooks that come with training
scaffold.py            `Scaffold`: the parts of a graph that a training needs beside its steps
session_manager.py     `SessionManager`: sessions whose variables have their values
creators.py            session creators: by what a monitored session runs its steps
monitored_session.py   `MonitoredTrainingSession`, `MonitoredSession`, `SingularMonitoredSession`
blocking.py            the same for code without `await`
"""
