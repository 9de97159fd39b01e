"""The command `actorflow`.

check.py      `actorflow worker --check`: tries what a task will need, and says what it found
dump.py       `actorflow dump`: what waits on the tasks of a running cluster, and what they do, for a report of a problem
keys.py       `actorflow keys init|show`: makes the keys of a cluster or of a person, and shows what may be shown of them
leave.py      `actorflow leave`: takes a task out of a running cluster
local.py      what `up` and `run` share: a local cluster from a command line, its keys in a file, and what its tasks write
main.py       the command `actorflow` and its subcommands, which are found through entry points (group `actorflow.commands`)
shell/        texts to read: completion of command lines, the manual pages, explanations of errors
place.py      `actorflow place`: looks for a better placement of a step that was kept in a file, here or on another machine
queries.py    what `status` and `dump` share: which tasks are asked, with which keys, and asking all at once
run.py        `actorflow run script.py`: a cluster on this machine for as long as a script runs
status.py     `actorflow status`: a line for each task of a running cluster, or JSON; and the probes of container schedulers
trace.py      `actorflow trace`: writes a timeline of steps of a running cluster: of the next or the last seconds
up.py         `actorflow up --jobs ps=1,worker=2`: a cluster on this machine, in the foreground, until Ctrl-C
worker.py     `actorflow worker`: one task of a cluster, as a process
"""
