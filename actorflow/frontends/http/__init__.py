"""HTTP/1.1 for the sites of the project: the models of `actorflow serve`, the live page of `actorflow dashboard`.

A `Site` answers requests. There are no messages between our server and a site, and a body is there in full before the site is
asked. A request with a shortcut costs no task. A request for inference has a shortcut: it is put into its model's queue as its
last byte arrives. Its answer is written when the step of its batch ends. Each site is an ASGI application too.

answers.py     `HttpRequest`, `Answer`, `Streamed`
connection.py  `Connection`: the requests of one connection, answered in their order
messages.py    bodies and answers as messages of ASGI
reader.py      `RequestReader`: bytes become requests; without I/O
server.py      `run`, and `HttpServer`: sockets, TLS, limits of time, the end
site.py        `Site`: what answers
"""
