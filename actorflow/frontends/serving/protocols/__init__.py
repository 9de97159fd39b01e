"""The two protocols: from a request to the call of a model, and from its outputs to an answer. Functions, without I/O.

answers.py     `Answer`, and the answers to errors
bodies.py      bodies of requests: bounds, compression, JSON
forms.py       `Form`: requests that differ in ids and tensors alone are checked once
inference.py   `InferenceCall`: what a request asks a model, and how its outputs become the answer
kserve.py      the Open Inference Protocol
pages.py       the page at `/`, the OpenAPI description, the lines of `actorflow serve`
pieces.py      `load`: the JSON of a large body in pieces
questions.py   status, metadata, statistics
rest.py        TensorFlow Serving's REST interface
routes.py      `PathRoute`: what a path asks for
writing.py     answers as JSON, large answers in pieces
"""
