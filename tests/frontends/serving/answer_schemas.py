"""The forms of answers that the two protocols publish, as JSON schemas, and a client that holds each answer against its own.

The Open Inference Protocol has them in `open_inference_rest.yaml` and in the tables of `inference_rest.md`, TensorFlow Serving in
the text of its REST interface. An object has the members that are written there and no others, so a typing error is found.
"""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
from frontends.serving.served import Client

TEXT, BOOL, WHOLE, ANY = {"type": "string"}, {"type": "boolean"}, {"type": "integer"}, True
NUMBER_AS_TEXT = {"type": "string", "pattern": "^-?[0-9]+$"}


def record(optional: dict[str, Any] | None = None, /, **members: Any) -> dict[str, Any]:
    """An object that has these members, and perhaps the optional ones."""
    every = {**members, **(optional or {})}
    return {"type": "object", "properties": every, "required": list(members), "additionalProperties": False}


def listed(of: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": of, **more}


def mapped(to: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": to}


ERROR = record(error={"type": "string", "minLength": 1})

DATATYPE = {
    "enum": [
        *("BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64"),
        *("FP16", "FP32", "FP64", "BYTES", "BF16"),  # BF16 is Triton's
    ]
}
SIZES = listed({"type": "integer", "minimum": 0})
TENSOR = record(name=TEXT, datatype=DATATYPE, shape=listed({"type": "integer", "minimum": -1}))
OUTPUT = {
    "oneOf": [
        record(name=TEXT, shape=SIZES, datatype=DATATYPE, data=listed({"type": ["number", "string", "boolean"]})),
        # of the binary extension
        record(name=TEXT, shape=SIZES, datatype=DATATYPE, parameters=record(binary_data_size=WHOLE)),
    ]
}
PORT = record(name=TEXT, data_type={"type": "string", "pattern": "^TYPE_"}, dims=listed(WHOLE))
COUNT = record(count=WHOLE, ns=WHOLE)

BASE64 = {"type": "string", "contentEncoding": "base64", "pattern": "^[A-Za-z0-9+/]*={0,2}$"}
VALUE = {
    "anyOf": [
        {"type": ["number", "string", "boolean"]},
        record(b64=BASE64),
        listed({"$ref": "#/$defs/value"}),
    ]
}
NAMED = {"anyOf": [VALUE, mapped(VALUE)]}
"""The value of one output, or those of several by name."""
SCORED = {"type": "array", "prefixItems": [TEXT, {"type": "number"}], "items": False, "minItems": 2}
STATES = {"enum": ["UNKNOWN", "START", "LOADING", "AVAILABLE", "UNLOADING", "END"]}
INFO = record(
    dtype={"type": "string", "pattern": "^DT_[A-Z0-9]+$"},
    tensor_shape=record(dim=listed(record(size=NUMBER_AS_TEXT, name=TEXT)), unknown_rank=BOOL),
    name=TEXT,
)
SIGNATURE = record(inputs=mapped(INFO), outputs=mapped(INFO), method_name=TEXT, defaults=mapped(ANY))

SCHEMAS: dict[str, tuple[str, Any]] = {
    # Open Inference: what a method and a path are answered with
    "server metadata": (r"GET /v2/?", record(name=TEXT, version=TEXT, extensions=listed(TEXT))),
    "server live": (r"GET /v2/health/live", record(live=BOOL)),
    "server ready": (r"GET /v2/health/ready", record({"live": BOOL, "ready": BOOL})),
    "model ready": (r"GET /v2/models/[^/]+(/versions/[^/]+)?/ready", record(name=TEXT, ready=BOOL)),
    "model metadata": (
        r"GET /v2/models/[^/]+(/versions/[^/]+)?",
        record(
            name=TEXT, versions=listed(NUMBER_AS_TEXT), platform=TEXT, inputs=listed(TENSOR), outputs=listed(TENSOR)
        ),
    ),
    "inference": (
        r"POST /v2/models/[^/]+(/versions/[^/]+)?/infer",
        record({"id": TEXT}, model_name=TEXT, model_version=NUMBER_AS_TEXT, outputs=listed(OUTPUT, minItems=1)),
    ),
    # what Triton adds
    "model configuration": (
        r"GET /v2/models/[^/]+(/versions/[^/]+)?/config",
        record(name=TEXT, platform=TEXT, backend=TEXT, max_batch_size=WHOLE, input=listed(PORT), output=listed(PORT)),
    ),
    "model statistics": (
        r"GET /v2/models/[^/]+(/versions/[^/]+)?/stats",
        record(
            model_stats=listed(
                record(
                    name=TEXT,
                    version=NUMBER_AS_TEXT,
                    inference_count=WHOLE,
                    execution_count=WHOLE,
                    inference_stats=record(success=COUNT, fail=COUNT),
                )
            )
        ),
    ),
    "repository index": (
        r"POST /v2/repository/index",
        listed(record(name=TEXT, version=NUMBER_AS_TEXT, state=TEXT, reason=TEXT)),
    ),
    # TensorFlow Serving
    "predict": (
        r"POST /v1/models/[^/:]+(/(versions|labels)/[^/:]+)?:predict",
        {"oneOf": [record(predictions=listed(NAMED, minItems=1)), record(outputs=NAMED)]},
    ),
    "classify": (
        r"POST /v1/models/[^/:]+(/(versions|labels)/[^/:]+)?:classify",
        record(results=listed(listed(SCORED), minItems=1)),
    ),
    "regress": (
        r"POST /v1/models/[^/:]+(/(versions|labels)/[^/:]+)?:regress",
        record(results=listed({"type": "number"}, minItems=1)),
    ),
    "model status": (
        r"GET /v1/models/[^/:]+(/(versions|labels)/[^/:]+)?",
        record(
            model_version_status=listed(
                record(version=NUMBER_AS_TEXT, state=STATES, status=record(error_code=TEXT, error_message=TEXT)),
                minItems=1,
            )
        ),
    ),
    "signatures": (
        r"GET /v1/models/[^/:]+(/(versions|labels)/[^/:]+)?/metadata",
        record(
            model_spec=record(name=TEXT, signature_name=TEXT, version=NUMBER_AS_TEXT),
            metadata=record(signature_def=record(signature_def=mapped(SIGNATURE))),
        ),
    ),
}
"""For each kind of answer the requests that get it, and its schema."""


def kind_of(method: str, path: str) -> str | None:
    """The kind of answer that a request gets where it succeeds; None for one that has no schema."""
    found = [kind for kind, (asked, _) in SCHEMAS.items() if re.fullmatch(asked, f"{method} {path}", re.IGNORECASE)]
    assert len(found) <= 1, found
    return found[0] if found else None


_KEPT: dict[str, jsonschema.Draft202012Validator] = {}


def validate(kind: str, answer: Any) -> None:
    """Raises jsonschema.ValidationError where an answer (or an `error`) has another form."""
    if kind not in _KEPT:
        schema = ERROR if kind == "error" else SCHEMAS[kind][1]
        _KEPT[kind] = jsonschema.Draft202012Validator({**schema, "$defs": {"value": VALUE}})
    _KEPT[kind].validate(answer)


class CheckedClient(Client):
    """A client that holds each answer against the schema of its kind. `kinds` are those that it has seen."""

    def __init__(self, app: Any, headers: dict[str, str] | None = None) -> None:
        super().__init__(app, headers)
        self.kinds: set[str] = set()

    async def call(
        self, method: str, path: str, body: Any = b"", headers: dict[str, str] | None = None, *, gone: Any = None
    ) -> tuple[int, dict[str, str], bytes]:
        status, told, data = await super().call(method, path, body, headers, gone=gone)
        kind = kind_of(method, path)
        if status >= 400 and not (status == 503 and path.endswith("/ready")):
            kind = "error"
        if kind is None:
            return status, told, data
        self.kinds.add(kind)
        head = data[: int(told.get("inference-header-content-length", len(data)))]
        answer = json.loads(head)
        validate(kind, answer)
        if kind == "inference":
            sizes = [output.get("parameters", {}).get("binary_data_size", 0) for output in answer["outputs"]]
            assert len(head) + sum(sizes) == len(data)
        else:
            assert (told["content-type"], len(head)) == ("application/json", len(data))
        return status, told, data
