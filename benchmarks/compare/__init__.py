"""The same two ONNX files behind our server and behind servers that people use, in one command.

    python -m benchmarks compare                     all servers, three rounds; an hour with the installations
    python -m benchmarks compare litserve --rounds 1 our servers and one peer; shown, not stored
    python -m benchmarks compare --list

server.py         what a server of the comparison is: packages, how it starts, how it is asked
servers/          the servers, each in a file of its own
programs/         what a user writes for each; they run in the environments of the servers and import nothing from here
environments.py   an environment for each server below build/compare
models.py         the two models, as ONNX files
running.py        a server's processes on one core: start, memory, processor time, end
client.py         clients that ask over kept connections
loads.py          the loads: steady, twice the bearable rate, clients that leave, a reload
measures.py       all figures of one server with one model
report.py         medians of the rounds, as JSON and as a table
command.py        the command
"""
