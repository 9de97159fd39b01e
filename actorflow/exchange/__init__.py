"""Models in and out, in the formats of others.

export/       frozen graphs, quantised graphs, and models as a module of numpy (`af.export`)
onnx/         ONNX, in both directions (`af.onnx`)
saved_model/  TensorFlow's SavedModel (`af.saved_model`)
sources/      files of all kinds as graphs with signatures
"""
