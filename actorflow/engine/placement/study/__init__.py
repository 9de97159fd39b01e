"""The expected step of a placement, as data to ask: timelines, searches, what-if, and the difference to a measured step.

`PlacementStudy` holds a simulated step by itself, without graph and session. `Session.study_placement` makes it; it is kept in a
file, and `actorflow place` reads it.

comparison.py   `StepComparison`: a predicted step beside a measured step, and what each node adds to the difference
study.py        `PlacementStudy`: a step, its devices and a placement
what_if.py      other machines than those that are there: more workers, faster links
"""
