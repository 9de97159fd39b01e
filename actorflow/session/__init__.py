"""The client's handle to the runtime.

awaits.py              `refuse_await`: tells a program that awaits what a blocking session gives that it need not
blocking.py            `blocking.Session`: the same session without `await`, for scripts and plain prompts
callable.py            `Callable_`: a prepared run, for loops in which each microsecond counts
devices.py             the devices of an in-process session, and the state that outlives sessions
engine.py              `Engine`: whoever runs the steps of a session, in this process or behind a target
failed_run.py          how a run that failed is told: a cancelled one by the log, an error without the frames of actorflow
local.py               the engine of a session in this process: its own devices, plans, and steps
partial_execution.py   `PartialExecution`: a step that is fed and fetched while it runs
partial_run.py         partial runs: one step that is fed and fetched in several calls (TensorFlow's `partial_run`)
prefetch.py            runs that are started before anybody asks for their results, so that input comes in while a program
                       computes
run_coroutine.py       `RunCoroutine`: what `Session.run` gives: a coroutine that says so where a program takes it for the
                       values
session.py             `Session`: a client's handle to the runtime, which runs parts of a graph and keeps their state (paper
                       section 2)
step_runner.py         the steps of one session: admitted, started, waited for, stopped, and counted
planning/              from signatures of runs to plans
structure/             feeds and fetches: from a program's structures to tensors and back
waiting/               how steps wait: for their turn, until a deadline, for one another; and reports of it
"""
