# `make names` writes this file from the marks in the sources.

from actorflow.compat.names.functions import all_v2_summary_ops as all_v2_summary_ops
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
    "all_v2_summary_ops",
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
