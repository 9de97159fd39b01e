"""An autoencoder of images of digits, with variables of a scope, RMSProp and dictionaries of weights."""

import numpy as np
from sklearn.datasets import load_digits

import actorflow.compat.v1 as tf

FEATURES, HIDDEN, CODE = 64, 32, 12


def layer(x, size, name, activation=tf.nn.sigmoid):
    with tf.variable_scope(name):
        inputs = x.get_shape().as_list()[1]
        w = tf.get_variable("w", [inputs, size], initializer=tf.glorot_uniform_initializer(seed=inputs))
        b = tf.get_variable("b", [size], initializer=tf.zeros_initializer())
        return activation(tf.nn.xw_plus_b(x, w, b))


def main():
    tf.reset_default_graph()
    images = (load_digits().data / 16).astype(np.float32)

    X = tf.placeholder("float", [None, FEATURES])
    code = layer(layer(X, HIDDEN, "encoder_1"), CODE, "encoder_2")
    restored = layer(layer(code, HIDDEN, "decoder_1"), FEATURES, "decoder_2")
    loss = tf.reduce_mean(tf.squared_difference(X, restored))
    optimizer = tf.train.RMSPropOptimizer(0.01).minimize(loss, global_step=tf.train.get_or_create_global_step())

    batches = np.random.RandomState(0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        print(f"before {sess.run(loss, {X: images[1400:]}):.4f}")
        for _ in range(700):
            sess.run(optimizer, feed_dict={X: images[batches.randint(0, 1400, 100)]})
        values = sess.run({"loss": loss, "code": code, "step": tf.train.get_global_step()}, {X: images[1400:]})
        print(f"step {values['step']}")
        print(f"code {values['code'].shape[1]}")
        print(f"loss {values['loss']:.4f}")
        print(f"variables {len(tf.trainable_variables('encoder'))}")


if __name__ == "__main__":
    main()
