"""The Open Inference Protocol over gRPC, beside HTTP: `af.serving.GrpcServer` and `actorflow serve --grpc-port`.

The package `grpcio` carries bytes. Messages are read and written here, so no code is generated from the protocol's file.

command.py    the options of `actorflow serve`
messages.py   the messages of the service `inference.GRPCInferenceService`
inference.py  `Exchange`: a request and its answers
methods.py    status, metadata, the repository: methods that need no step
reading.py    a request: its bounds, its tensors
reads.py      messages that arrive: their time, and the places of slow messages
server.py     `GrpcServer`: addresses, tokens, limits, errors
streams.py    `ModelStreamInfer`: several requests and answers on one stream
tensors.py    tensors in typed lists
writes.py     messages that leave: their time, and clients that have left
writing.py    an answer
"""
