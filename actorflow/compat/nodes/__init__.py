"""Nodes of TensorFlow's graphs whose ops actorflow does not have, as functions of public names.

`import_graph_def` asks for them (the entry points of `actorflow.graph_forms`) when it meets such an op. Texts, sounds and
projections of images are computed by numpy in a function of Python (`py_func`). Such a node runs in the process that has read the
graph.

arrays.py     layouts, matrices, old forms of normalization and updates, numbers of few bits
audio.py      files of sound, spectra and their coefficients
cells.py      whole cells of recurrent networks
counting.py   counts of integers by rows
ragged.py     rows of several lengths
text.py       characters, runs of words, crosses of categories
vision.py     images and boxes
"""

from actorflow.compat.nodes import arrays, audio, cells, counting, ragged, text, vision

FORMS = {
    **arrays.FORMS,
    **audio.FORMS,
    **cells.FORMS,
    **counting.FORMS,
    **ragged.FORMS,
    **text.FORMS,
    **vision.FORMS,
}
"""For each op how its node is built."""
