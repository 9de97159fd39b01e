# `make names` writes this file from the marks in the sources.

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
