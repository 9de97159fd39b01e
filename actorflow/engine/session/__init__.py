"""The client's handle to the runtime.

A session asks an `Engine`, of which there are two. `LocalEngine` is a master with one worker that it calls directly;
`RemoteEngine` (`actorflow.cluster.client.engine`) asks a master by messages. A master and a worker do what a local engine does by
the same classes: `Planner` places, divides and keeps plans, `PlanBuilder` compiles them, `StepRunner` runs steps,
`PartialExecution` holds those that are fed in parts. So a signature is planned, a step run, and a run counted in one way,
wherever it happens. Two things differ, and stay apart. A local engine owns its devices, and what they keep ends with it; a
worker's devices are shared by its clients, and outlive them. So a run in this process needs no registration, and a program
without a cluster loads none of its modules; a run through a master and its own worker takes the same time. And a
checkpoint of a cluster waits for the steps of its own session only, and for a limited time.

awaitables.py          `Callable_` of `make_callable`, which a program awaits; and what it may not
blocking.py            `blocking.Session`: the same session without `await`, for scripts and plain prompts
devices.py             the devices of an in-process session, and the state that outlives sessions
engine.py              `Engine`: whoever runs the steps of a session, in this process or behind a target
inspection.py          `Inspection`: what a session tells of its devices, its steps, and where its nodes are
link_probe.py          `measure_links`: what transfers between the tasks of a cluster cost, by steps that do nothing else
local.py               the engine of a session in this process: its own devices, plans, and steps
members.py             `MembershipChange`: how the tasks of a cluster have changed
prefetch.py            runs that are started before anybody asks for their results, so that input comes in while a program
                       computes
session.py             `Session`: a client's handle to the runtime, which runs parts of a graph and keeps their state (paper
                       section 2)
settings.py            the records that a session takes: `SessionLimits`, `ValueOptions`; and where former arguments are
statistics.py          what sessions count: `SessionStatistics`, how they come about, and `EdgeReport`
step_runner.py         the steps of one session: admitted, started, waited for, stopped, and counted
partial/               partial runs: one step that is fed and fetched in several calls (TensorFlow's `partial_run`)
planning/              from signatures of runs to plans
waiting/               how steps wait: for their turn, until a deadline, for other steps; and reports of it
"""
