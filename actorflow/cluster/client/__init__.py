"""A client of a cluster: a session whose master is another process.

engine.py          `RemoteEngine`, the engine of `Session(target)`: its steps are run by a master (paper section 3)
in_flight.py       the steps that a client has in flight at its master: which of them only wait and so lend their places to
                   others, and reports of what they wait for
inquiries.py       `query_status`, `query_pending` and `reset`: one question to a server, over a connection that is made for it
membership.py      questions to a cluster about its members: a place for a task that wants to join, and that a task shall leave
own_servers.py     the servers of this process, which let its own sessions use folders
remote_session.py  `RemoteSession`: a session at a master, over a connection that is made again when it is lost
"""
