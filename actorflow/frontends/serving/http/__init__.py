"""HTTP/1.1 for an `Application`, as `actorflow serve` speaks it.

There are no messages between the server and the application, and a body is there in full before the application is asked. A
request for inference costs no task: it is put into its model's queue as its last byte arrives, and its answer is written when
the step of its batch ends (`Exchange`).

connection.py  `Connection`: the requests of one connection, answered in their order
reader.py      `Reader`: bytes become requests; without I/O
server.py      `run`, and `Server`: sockets, TLS, limits of time, the end
"""
