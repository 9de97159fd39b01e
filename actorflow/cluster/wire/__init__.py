"""Requests and replies between tasks.

endpoints.py        the endpoints of one process: one for control, and one for tensors on the same host where a transport has
                    that reach
failures.py         errors on the way from one task to another: the same class there, with all that it said and a word on where
                    it was raised
inline_tensors.py   small tensors inside of requests and replies: [type, shape, elements]
links.py            `Link`: what one task opens to another: a channel, and on one host a second one, over which all goes once it
                    is there
messages.py         what tasks ask of each other
patient_sleep.py    `patient_sleep`: a wait after which this process has read what others sent it meanwhile
rpc.py              `Rpc`: requests and replies over the messages of a channel, in both directions
signatures.py       what a client asks a master to plan, on the wire, and what is checked of the values that are fed then
"""
