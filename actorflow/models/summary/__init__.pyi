# `make names` writes this file from the marks in the sources.

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

from actorflow.models.summary.file_writer import FileWriter as FileWriter
from actorflow.models.summary.file_writer import FileWriterCache as FileWriterCache
from actorflow.models.summary.ops import audio as audio
from actorflow.models.summary.ops import get_summary_description as get_summary_description
from actorflow.models.summary.ops import histogram as histogram
from actorflow.models.summary.ops import image as image
from actorflow.models.summary.ops import merge as merge
from actorflow.models.summary.ops import merge_all as merge_all
from actorflow.models.summary.ops import scalar as scalar
from actorflow.models.summary.ops import tensor_summary as tensor_summary
from actorflow.models.summary.ops import text as text
from actorflow.models.summary.protos import Event as Event
from actorflow.models.summary.protos import SessionLog as SessionLog
from actorflow.models.summary.protos import Summary as Summary
from actorflow.models.summary.protos import SummaryDescription as SummaryDescription
from actorflow.models.summary.protos import TaggedRunMetadata as TaggedRunMetadata
from actorflow.models.summary.reading import read_events as read_events
from actorflow.models.summary.writer import Writer as Writer

__all__ = [
    "Event",
    "FileWriter",
    "FileWriterCache",
    "SessionLog",
    "Summary",
    "SummaryDescription",
    "TaggedRunMetadata",
    "Writer",
    "audio",
    "get_summary_description",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "read_events",
    "scalar",
    "tensor_summary",
    "text",
]
