"""The hooks that come with training (`tf.train.*Hook`).

timer.py       `SecondOrStepTimer`: when something that happens now and then is due
stopping.py    the end of a training: at a step, or with a loss that is no number; and its begin, at a step of others
logged.py      tensors and steps a second, in the log
saving.py      `CheckpointSaverHook` and its listeners
feeding.py     values that are fed to each step, and values that are asked for at the end
summaries.py   summaries and profiles in files of events

A method of our hooks that has to wait is a program (`commands.py`), so it works with sessions of both kinds.
"""
