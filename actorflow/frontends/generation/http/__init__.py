"""Generation over HTTP, as a plug-in of the server of models.

asked.py        what a request asks: its body, checked field by field
completions.py  `/v1/completions`, as OpenAI has it
events.py       answers as events that a server sends
generate.py     `/v2/models/NAME/generate` and `generate_stream`, as the Open Inference Protocol has them
page.py         a page that shows a stream
plugin.py       `Generation`: the plug-in
tensors.py      a request whose text is a tensor, such as by gRPC
"""
