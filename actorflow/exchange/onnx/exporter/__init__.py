"""Graphs as ONNX models: a frozen graph, whose nodes are written by the rules of their ops.

save.py         `save`
block.py        `ExportedBlock`: a graph of ONNX while it is written, and the table of rules
control.py      branches as If, loops as Loop
lists.py        lists of tensors as tensors of their elements
segments.py     sums and extremes of rows by numbers of segments
transposed.py   convolutions turned round
elementwise.py  rules of arithmetic, comparisons, logic, activations, reductions
shapes.py       rules of shapes, joins, slices, gathers, constants
networks.py     rules of products, convolutions, pools, normalisations, images
recurrent.py    the LSTM over all steps, as Scan
quantized.py    rules of products and convolutions with weights of int8: pairs of QuantizeLinear and DequantizeLinear around
                ONNX's own ops
"""
