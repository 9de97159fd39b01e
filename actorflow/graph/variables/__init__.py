"""Variables: tensors that outlive a run, the scopes that share them, and what they start with.

assignments.py    `Assignments`: the methods of a variable that change its value, or a part of it
collections.py    a graph's lists of variables and other things by purpose (`tf.GraphKeys`), and ops that initialise variables
creators.py       `variable_creator_scope`: functions that make variables in the place of their class
dependencies.py   initial values that are computed from other variables, which may have no value yet when an initializer runs
getting.py        how `get_variable` makes or takes a variable, in one piece or in slices, once its name and defaults are known
initializers.py   what variables start with: constants, random draws, and draws scaled to the size of a layer
partitioned.py    `PartitionedVariable`: a variable that is kept in slices, which may live on several devices
                  (`tf.PartitionedVariable`)
partitioners.py   partitioners: functions that say into how many slices a variable of some shape and type is cut
                  (`tf.*_partitioner`)
scope.py          `variable_scope` and `get_variable`: variables that several parts of a program share by name
                  (`tf.get_variable`)
store.py          what a graph knows of its shared variables: them by name, and the variable scope that is open
template.py       `make_template`: a function whose variables are made in its first call and shared by all later calls
                  (`tf.make_template`)
updates.py        the updates of layers (UPDATE_OPS): which a loss needs, and which a training step leaves behind
variable.py       `Variable`: a tensor that is kept between runs and changed by assignments (paper section 2; `tf.Variable`)
"""
