"""Changes that break the program, to see whether the tests notice. `make mutants` applies each to a copy and runs tests there.

planted.py      bugs that somebody could have written, each with what it would mean for a user
automatic.py    small changes of the syntax tree, chosen by a seed
mutant.py       `Mutant`, a change of one file
tree.py         a copy of the project in which tests import the copy
footprints.py   which functions a test enters: a plugin of pytest
records.py      the footprints of all tests, and the choice of those that may notice a change
live.py         functions get a mutant's code without a new interpreter
server.py       a pytest that has collected all tests, and forks a child for each mutant
trial.py        a mutant's tests are run, and what came of it
reasons.py      survivors that are no bugs, with the reasons (reasons.toml)
results.py      what is written to benchmarks/results
__main__.py     the command
"""
