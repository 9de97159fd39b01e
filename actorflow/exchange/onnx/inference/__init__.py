"""`InferenceSession`: the names that users of onnxruntime know, over actorflow's runtime, and `run_async` beside `run`.

A session belongs to no event loop. It has an engine for each loop that awaits it, and another engine, with a loop of its own, for
`run`. So one object serves any number of threads and loops. An engine ends with its loop, or with the object.

Names and shapes come from the file, or from a signature; so errors about a feed speak of the file's inputs.

arguments.py   `NodeArg` and `ModelMetadata`: what the file says of itself
engine.py      `InferenceEngine`: a variant of a model on one event loop, with its batches
feeding.py     the values of a feed as arrays that fit, and results in onnxruntime's form
interface.py   `Interface`: inputs and outputs of a model, the check of a feed, and the graph that it asks for
loading.py     `load_model`: a model file of any kind
model.py       `OnnxModel`: an ONNX file, and the graphs that its feeds ask for
names.py       the name that was probably meant
options.py     `SessionOptions`, `RunOptions` and their enumerations
providers.py   execution providers, as hints on devices
session.py     `InferenceSession`
signature_model.py  `SignatureModel`: a signature of a saved model, a frozen graph or a checkpoint
values.py      `OrtValue` and `IOBinding`: arrays that are shared by DLPack, and bound to inputs and outputs
"""
