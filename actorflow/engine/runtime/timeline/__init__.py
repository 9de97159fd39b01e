"""Timelines: a `Trace` as a picture, and what a step waited for.

A `Trace` becomes a `TraceTimeline`, which knows processes, lanes, slices, flows and counters, and no format. Two writers make
files of it. All of this is pure: nothing here reads a clock or a file.

chrome.py     a timeline as JSON, for Chrome's viewer
coverage.py   `explained`: how much of a run's time the spans and events of its trace account for, and where the rest is
critical.py   `critical_path`: what a step waited for, from its end back to its begin
perfetto.py   a timeline as Perfetto's protobuf
summary.py    a trace in some lines of text
tracks.py     `TraceTimeline`: from a trace to processes, lanes, slices, flows and counters
"""
