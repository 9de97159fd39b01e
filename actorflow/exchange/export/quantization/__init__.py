"""`quantize`: a frozen graph whose products and convolutions have weights of int8.

A node is replaced together with the bias and the activation behind it. Floats go in and come out, so each node is replaced or
left by itself. The range of a node's input is measured in each run (dynamic), or once on data (static, by calibration).

calibration.py  `CalibrationHistogram`: the values of a tensor, and the range that is kept of them
quantize.py     `quantize`: measures, rewrites, and compares
report.py       `QuantizationReport`: nodes that were replaced, those that were left and why, size and accuracy
rewriting.py    `sites`: which nodes can be replaced, and the nodes that replace them
"""
