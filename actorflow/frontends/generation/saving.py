"""`save`: writes a model that generates."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from actorflow.base.process import machine
from actorflow.engine.session.session import Session
from actorflow.errors import FailedPreconditionError, InvalidArgumentError
from actorflow.exchange.saved_model import signature_constants, tag_constants
from actorflow.exchange.saved_model.builder import SavedModelBuilder
from actorflow.exchange.saved_model.signature_def_utils import build_signature_def, predict_signature_def
from actorflow.exchange.saved_model.utils import build_tensor_info
from actorflow.frontends.generation.decoding import Decoding
from actorflow.frontends.generation.description import METHOD, START, STEP
from actorflow.frontends.generation.tokenizers import Tokenizer
from actorflow.graph.graphdef.protos import SignatureDef
from actorflow.graph.ops.array.constant import constant
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables.updates import ancestors
from actorflow.public import public


@public("af.generation")
async def save(
    session: Session,
    path: str | os.PathLike[str],
    decoding: Decoding,
    *,
    tokenizer: Tokenizer | None = None,
    stop_tokens: Collection[int] = (),
    inputs: Mapping[str, Tensor] | None = None,
    outputs: Mapping[str, Tensor] | None = None,
) -> None:
    """Writes a saved model that `Model` opens and a server streams. The caches are not written.

    Example:
        >>> decoding = af.generation.Decoding(context=32, vocabulary=256)
        >>> table = af.get_variable("table", [256, 256])  # of each token, the logits of the next
        >>> _ = decoding.choose(decoding.last(af.gather(table, decoding.tokens)))
        >>> await session.run(af.global_variables_initializer())
        >>> await af.generation.save(session, "models/letters/1", decoding, tokenizer=af.generation.Bytes())

    Args:
        session: a session with the model's values.
        path: the folder, which must not be there, or be empty.
        decoding: the graph of a step.
        tokenizer: of the model; without it, prompts and answers are lists of tokens.
        stop_tokens: tokens that end an answer.
        inputs: inputs of a signature `serving_default` beside it, for those who want the logits of a whole text.
        outputs: its outputs. They do not depend on the decoding's caches, which hold the texts of other requests.

    Raises:
        FailedPreconditionError: the decoding chooses no token, or a variable has no value.
        InvalidArgumentError: an output depends on the caches.
    """
    if decoding.chosen is None:
        raise FailedPreconditionError(
            "The decoding chooses no tokens.", hint="Call decoding.choose(logits) while the graph is built."
        )
    facts = replace(
        decoding.description,
        stop_tokens=tuple(sorted(stop_tokens)),
        tokenizer=None if tokenizer is None else dict(tokenizer.described()),
    )
    graph = session.graph
    with graph.as_default(), graph.control_dependencies([cache.initializer for cache in decoding.caches]):
        text = identity(constant(facts.text().encode()), name="generation_description")
    signatures = {
        STEP: _signature(decoding.inputs, {"tokens": decoding.chosen}),
        START: _signature({"blocks": decoding.blocks}, {"description": text}),
    }
    if inputs is not None and outputs is not None:
        _check_outputs(decoding, outputs)
        signatures[signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY] = predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(path, format="standard")
    await builder.add_meta_graph_and_variables(session, [tag_constants.SERVING], signatures, clear_devices=True)
    await machine.on_thread(builder.save)


def _check_outputs(decoding: Decoding, outputs: Mapping[str, Tensor]) -> None:
    """Refuses outputs by which a client would read, or write, the blocks of others."""
    caches = {cache.op.name for cache in decoding.caches}
    for name, tensor in outputs.items():
        if caches & ancestors(tensor.graph.nodes, [tensor.op.name]):
            raise InvalidArgumentError(
                f"The output {name!r} depends on the caches of the decoding, so it would show the texts of other requests.",
                hint="Build it with attention of a whole text, beside the decoding, from the same variables.",
            )


def _signature(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> SignatureDef:
    sources = {name: build_tensor_info(tensor) for name, tensor in inputs.items()}
    results = {name: build_tensor_info(tensor) for name, tensor in outputs.items()}
    return build_signature_def(sources, results, METHOD)
