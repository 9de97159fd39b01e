"""Observations of steps: traces, costs, waits, faults.

causality.py           several tasks' times on one clock: how far a task's clock is ahead, and no effect before its cause
costs.py               measured costs of nodes: what decides whether a kernel runs on the loop or on the device's thread
faults.py              from what a kernel raised to an error that names the node, its device, its inputs and the user's line
misfit.py              `misfit`: what does not fit in the inputs that a kernel failed with, in the words of the op's own rules
node_measurements.py   what the runs of a plan have shown of its nodes, for placement (paper section 3.2.1)
numerics.py            `PlanOptions(check_numerics=True)`: the first node that makes a NaN or an infinity out of finite numbers is
                       the step's error
post_mortem.py         `PostMortem`: the files in which a task leaves what it remembers when a step fails
recorder.py            `Recorder`: the last seconds of a task's steps, for a look back after a failure
starvation.py          the starvation report: which nodes of a step wait, for which channel or resource, and who should fill it
step_spans.py          `StepSpans`: another system that is told of steps while they run, such as OpenTelemetry
trace.py               what ran when: the events of one traced step
traced_executor.py     `TracedExecutorState`: a part of a traced step, which notes when tokens come
waits.py               the wait of a step: `Wait`, what an asynchronous kernel says that it waits for, and `StepReport`
"""
