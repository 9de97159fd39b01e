"""The supervisor: it sees that tasks live, restarts them, and takes training back to its last checkpoint (paper section 3.3).

liveness.py     what is known of a task, as a pure state machine
monitor.py      links to all tasks, whose ends and beats are the evidence
restarts.py     how often a task is started again, and after which pause
epochs.py       the numbers of epochs, in the checkpoint folder
keeper.py       from a loss to the next epoch
saves.py        when a checkpoint is due
model.py        initial values, checkpoints and the global step of a graph
attempts.py     the steps of a training loop, of which a loss takes some back
supervisor.py   `Supervisor`, all of these together
blocking.py     the same for code without `await`
"""
