"""Summaries: what a training run tells TensorBoard, and the files that hold it (`tf.summary`; paper section 9.1).

Ops make summaries within a step, as serialised messages; a program fetches a message and hands it to a writer. A writer puts
events in a queue, and a thread writes them, so that neither a step nor an event loop waits for a disk. A disk that fails ends
no training: one warning is logged, events wait in memory up to a bound, those beyond it are counted, and writing goes on when
it can.
The formats are functions of bytes in `actorflow.base.records.summaries`.

event_file.py    `EventFile`: the file itself: its name, whole records or none, rotation, and its folder that may disappear
event_queue.py   `SummaryQueue`: events on their way to the file, and the thread that writes them
file_writer.py   `FileWriter`: writes summaries, graphs and sessions' logs for TensorBoard (`tf.summary.FileWriter`)
ops.py           the functions that add summary ops to the graph: `scalar`, `histogram`, `image`, `audio`, `text`, `merge`
pages.py         values for TensorBoard's pages, as TensorFlow 2 writes them: scalars, histograms, PR curves, HParams, meshes
protos.py        `Summary`, `Event`, `RunMetadata` and the other messages
reading.py       `read_events`: the events of a file or folder, up to damage
run_metadata.py  from a `Trace` to the `RunMetadata` that TensorBoard's graph shows times of
writer.py        `Writer`: summaries from plain Python, without a graph
"""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.summary", __name__)
