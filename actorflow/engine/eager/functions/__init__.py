"""Functions of Python that run as compiled plans (`tf.function`).

concrete.py     `ConcreteFunction`: one trace of a function, and the compiled plans that run it
func_graph.py   `FuncGraph`: the graph of a function that is traced from an eager program
function.py     `function`: a function of Python that runs as a compiled plan (`tf.function`)
home.py         `Home`: the task of a cluster on which the variables of a function live that is sent there
open_shapes.py  `OpenShapes`: a trace that calls share whose tensors differ in their sizes only (`reduce_retracing`)
signature.py    what a call of an `af.function` is known by: types and shapes of its tensors, and its other arguments themselves
"""
