# `make names` writes this file from the marks in the sources.

"""Models that generate: token by token, for many requests at once, streamed in process and over HTTP.

A program builds a graph of one step with `Decoding`: any number of tokens, each of some request and at some place of it. Keys and
values, and recurrent states, are variables in blocks; a table names the blocks of each request. So one graph takes prompts and
single tokens together, and no row is padded. `save` writes it; `Model` opens it, and `Model.generate` gives a stream of tokens.

Requests join and leave between steps (continuous batching; Yu et al. 2022, Orca). A request gets all blocks that it may need
when it begins, so none stops in its middle. It gives them back at its end, at once when its reader leaves.

blocks.py      `FreeBlocks`: the blocks of a pool that are free
decoding.py    `Decoding`: the graph of a step
description.py `Description`: facts of a model that its graph brings along
http/          `/v2/models/NAME/generate`, `generate_stream`, `/v1/completions` and a page, as a plug-in of `serving`
model.py       `Model`: a model in a session, and its loop of steps
request.py     `Rules`: how tokens are chosen; `GenerationRequest`: a request on its way
saving.py      `save`: a saved model that generates
scheduler.py   `RequestScheduler`: which tokens go through the next step
stream.py      `Stream`: the tokens of a request as they come
text.py        text of tokens as they come, and texts that end it
tokenizers.py  bytes, characters, and the package `tokenizers`
"""

from actorflow.frontends.generation.decoding import Decoding as Decoding
from actorflow.frontends.generation.model import Model as Model
from actorflow.frontends.generation.request import Rules as Rules
from actorflow.frontends.generation.saving import save as save
from actorflow.frontends.generation.scheduler import Limits as Limits
from actorflow.frontends.generation.stream import Stream as Stream
from actorflow.frontends.generation.stream import Token as Token
from actorflow.frontends.generation.tokenizers import Bytes as Bytes
from actorflow.frontends.generation.tokenizers import Characters as Characters
from actorflow.frontends.generation.tokenizers import Pieces as Pieces
from actorflow.frontends.generation.tokenizers import Tokenizer as Tokenizer

__all__ = [
    "Bytes",
    "Characters",
    "Decoding",
    "Limits",
    "Model",
    "Pieces",
    "Rules",
    "Stream",
    "Token",
    "Tokenizer",
    "save",
]
