"""The progress of a training while it goes on: in a terminal a live line or, with `rich`, a table; in a notebook a
table as HTML.

It is drawn from an Estimator's events, which are public: a program may draw its own from `Estimator.events()`, or let `Progress`
draw the events of a loop of its own.

state.py   `Progress`: takes events, and knows what is to be shown
views.py   the places that show it: a terminal, a notebook, a file
"""
