"""Cells beside those of `tf.nn.rnn_cell`."""

from __future__ import annotations

from typing import Any

import actorflow.compat.v1 as tf

_Cell = tf.nn.rnn_cell.RNNCell
_State = tf.nn.rnn_cell.LSTMStateTuple


class LayerNormBasicLSTMCell(_Cell):
    """An LSTM whose gates and state are normalized over each layer (Ba and others 2016), with recurrent dropout.

    Args:
        num_units: the size of the output and of both parts of the state.
        forget_bias: a number that is added to the forget gate's bias.
        input_size: without effect.
        activation: of the inputs and the outputs.
        layer_norm: whether to normalize.
        norm_gain, norm_shift: the initial values of `gamma` and `beta`.
        dropout_keep_prob, dropout_prob_seed: of the recurrent dropout (Semeniuta and others 2016).
        reuse: whether its variables exist already.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Any = tf.tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._activation, self._forget_bias = num_units, activation, forget_bias
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed
        self._layer_norm, self._gain, self._shift = layer_norm, norm_gain, norm_shift

    @property
    def state_size(self) -> Any:
        return _State(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        return self._num_units

    def _normed(self, values: Any, scope: str) -> Any:
        with tf.variable_scope(scope):
            shape = values.shape[-1:].as_list()
            gamma = tf.get_variable("gamma", shape, values.dtype, tf.constant_initializer(self._gain))
            beta = tf.get_variable("beta", shape, values.dtype, tf.constant_initializer(self._shift))
            mean, variance = tf.nn.moments(values, [1], keep_dims=True)
            return tf.nn.batch_normalization(values, mean, variance, beta, gamma, 1e-12)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        c, h = state
        joined = tf.concat([inputs, h], 1)
        kernel = tf.get_variable("kernel", [joined.shape.as_list()[-1], 4 * self._num_units], joined.dtype)
        gates = tf.matmul(joined, kernel)
        if not self._layer_norm:
            gates = tf.nn.bias_add(gates, tf.get_variable("bias", [4 * self._num_units], joined.dtype))
        i, j, f, o = tf.split(gates, 4, 1)
        if self._layer_norm:
            i, j, f, o = (
                self._normed(each, name)
                for each, name in ((i, "input"), (j, "transform"), (f, "forget"), (o, "output"))
            )
        g = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            g = tf.nn.dropout(g, keep_prob=self._keep_prob, seed=self._seed)
        new_c = c * tf.sigmoid(f + self._forget_bias) + tf.sigmoid(i) * g
        if self._layer_norm:
            new_c = self._normed(new_c, "state")
        new_h = self._activation(new_c) * tf.sigmoid(o)
        return new_h, _State(new_c, new_h)


class NASCell(_Cell):
    """The cell that a search found (Zoph and Le 2016).

    Args:
        num_units: the size of the cell.
        num_proj: the size of the output, if it is another.
        use_bias: whether to add a bias.
        reuse: whether its variables exist already.
    """

    _NAS_BASE = 8

    def __init__(
        self, num_units: int, num_proj: int | None = None, use_bias: bool = False, reuse: Any = None, **named: Any
    ) -> None:
        super().__init__(_reuse=reuse, **named)
        self._num_units, self._num_proj, self._use_bias = num_units, num_proj, use_bias

    @property
    def state_size(self) -> Any:
        return _State(self._num_units, self._num_proj or self._num_units)

    @property
    def output_size(self) -> int:
        return self._num_proj or self._num_units

    def build(self, inputs_shape: Any) -> None:
        depth = inputs_shape[-1].value if hasattr(inputs_shape[-1], "value") else inputs_shape[-1]
        units, proj = self._num_units, self._num_proj or self._num_units
        self._recurrent = self.add_variable("recurrent_kernel", [proj, 8 * units])
        self._kernel = self.add_variable("kernel", [depth, 8 * units])
        self._bias = (
            self.add_variable("bias", [8 * units], initializer=tf.zeros_initializer()) if self._use_bias else None
        )
        self._projection = self.add_variable("projection_weights", [units, proj]) if self._num_proj else None

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        c, m = state
        recurrent = tf.matmul(m, self._recurrent)
        if self._bias is not None:
            recurrent = tf.nn.bias_add(recurrent, self._bias)
        m_parts = tf.split(recurrent, 8, 1)
        i_parts = tf.split(tf.matmul(inputs, self._kernel), 8, 1)
        first = [
            tf.sigmoid(i_parts[0] + m_parts[0]),
            tf.nn.relu(i_parts[1] + m_parts[1]),
            tf.sigmoid(i_parts[2] + m_parts[2]),
            tf.nn.relu(i_parts[3] * m_parts[3]),
            tf.tanh(i_parts[4] + m_parts[4]),
            tf.sigmoid(i_parts[5] + m_parts[5]),
            tf.tanh(i_parts[6] + m_parts[6]),
            tf.sigmoid(i_parts[7] + m_parts[7]),
        ]
        second = [
            tf.tanh(first[0] * first[1]),
            tf.tanh(first[2] + first[3]),
            tf.tanh(first[4] * first[5]),
            tf.sigmoid(first[6] + first[7]),
        ]
        new_c = tf.tanh(second[0] + c) * second[1]
        new_m = tf.tanh(new_c * tf.tanh(second[2] + second[3]))
        if self._projection is not None:
            new_m = tf.matmul(new_m, self._projection)
        return new_m, _State(new_c, new_m)


class UGRNNCell(_Cell):
    """The update gate network (Collins and others 2016).

    Args:
        num_units: the size of the state and the output.
        initializer: of the weights.
        forget_bias: a number that is added to the gate's bias.
        activation: of the candidate.
        reuse: whether its variables exist already.
    """

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        forget_bias: float = 1.0,
        activation: Any = tf.tanh,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._initializer = num_units, initializer
        self._forget_bias, self._activation = forget_bias, activation

    @property
    def state_size(self) -> int:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        from actorflow.compat.door.cells import linear

        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            gate, candidate = tf.split(linear([inputs, state], 2 * self._num_units, True), 2, 1)
        gate = tf.sigmoid(gate + self._forget_bias)
        new_state = gate * state + (1.0 - gate) * self._activation(candidate)
        return new_state, new_state


class IndRNNCell(_Cell):
    """A network whose units see only their own states (Li and others 2018).

    Args:
        num_units: the size of the state and the output.
        activation: of the sum; tanh unless given.
        reuse, name, dtype: see `tf.nn.rnn_cell.RNNCell`.
    """

    def __init__(
        self, num_units: int, activation: Any = None, reuse: Any = None, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._activation = num_units, activation or tf.tanh

    @property
    def state_size(self) -> int:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        depth = inputs_shape[-1].value if hasattr(inputs_shape[-1], "value") else inputs_shape[-1]
        self._kernel_w = self.add_variable("kernel_w", [depth, self._num_units])
        self._kernel_u = self.add_variable(
            "kernel_u", [1, self._num_units], initializer=tf.random_uniform_initializer(-1, 1)
        )
        self._bias = self.add_variable("bias", [self._num_units], initializer=tf.zeros_initializer())

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        total = tf.matmul(inputs, self._kernel_w) + state * self._kernel_u
        output = self._activation(tf.nn.bias_add(total, self._bias))
        return output, output


class CoupledInputForgetGateLSTMCell(_Cell):
    """An LSTM whose input gate is what the forget gate leaves (Greff and others 2015).

    Args:
        num_units: the size of the cell's memory.
        initializer, forget_bias, activation: see `tf.nn.rnn_cell.LSTMCell`.
        num_proj: the size of the output, if it is another.
        reuse, name: see `tf.nn.rnn_cell.RNNCell`.
        named: arguments that are not offered; each has to be its default.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: Any = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = tf.tanh,
        reuse: Any = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        name: str | None = None,
    ) -> None:
        super().__init__(_reuse=reuse, name=name)
        if use_peepholes or layer_norm or not state_is_tuple or proj_clip is not None:
            raise NotImplementedError("This cell takes no peepholes, layer_norm, proj_clip or joined state here.")
        self._num_units, self._num_proj = num_units, num_proj
        self._initializer, self._forget_bias, self._activation = initializer, forget_bias, activation

    @property
    def state_size(self) -> Any:
        return _State(self._num_units, self._num_proj or self._num_units)

    @property
    def output_size(self) -> int:
        return self._num_proj or self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        c, m = state
        joined = tf.concat([inputs, m], 1)
        shape = [joined.shape.as_list()[1], 3 * self._num_units]
        kernel = tf.get_variable("W_0", shape, inputs.dtype, self._initializer)
        bias = tf.get_variable("B", [3 * self._num_units], inputs.dtype, tf.zeros_initializer())
        j, f, o = tf.split(tf.nn.bias_add(tf.matmul(joined, kernel), bias), 3, 1)
        kept = tf.sigmoid(f + self._forget_bias)
        new_c = kept * c + (1 - kept) * self._activation(j)
        new_m = tf.sigmoid(o) * self._activation(new_c)
        if self._num_proj is not None:
            weights = tf.get_variable("W_P_0", [self._num_units, self._num_proj], inputs.dtype, self._initializer)
            new_m = tf.matmul(new_m, weights)
        return new_m, _State(new_c, new_m)


class LSTMBlockCell(tf.nn.rnn_cell.BasicLSTMCell):
    """The cell of `BasicLSTMCell`, in the variable scope of its name.

    Args:
        num_units, forget_bias, reuse, dtype: see `tf.nn.rnn_cell.BasicLSTMCell`.
        cell_clip: not offered.
        use_peephole: not offered.
        name: of the scope.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: Any = None,
        reuse: Any = None,
        name: str = "lstm_cell",
    ) -> None:
        if use_peephole or (cell_clip is not None and cell_clip > 0):
            raise NotImplementedError(
                "LSTMBlockCell takes no peephole and no cell_clip here: use tf.nn.rnn_cell.LSTMCell."
            )
        super().__init__(num_units, forget_bias, reuse=reuse, dtype=dtype, name=name)
