"""Gradients of what ran at once.

backward.py        the way back along a tape: from the gradients of what was computed to those of what it was computed from
custom.py          a function with a gradient of its own, called where ops run at once (`af.custom_gradient`)
functional.py      functions that give gradients of functions (`tf.contrib.eager.implicit_gradients` and its like)
gradient_tape.py   `GradientTape`: remembers what is computed, so that gradients can be taken afterwards
recording.py       `RecordingTape`: the operations that ran while it watched, in their order; and which tapes watch here
"""
