"""Two convolutions with pooling, a dense layer with dropout, and Adam, on images of digits."""

import numpy as np
from sklearn.datasets import load_digits

import actorflow.compat.v1 as tf


def weight_variable(shape):
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1))


def bias_variable(shape):
    return tf.Variable(tf.constant(0.1, shape=shape))


def conv2d(x, W):
    return tf.nn.conv2d(x, W, strides=[1, 1, 1, 1], padding="SAME")


def max_pool_2x2(x):
    return tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


def main():
    tf.set_random_seed(0)
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    images, labels = (images[order] / 16).astype(np.float32), labels[order].astype(np.int64)

    x = tf.placeholder(tf.float32, [None, 64])
    y_ = tf.placeholder(tf.int64, [None])
    keep_prob = tf.placeholder(tf.float32)
    with tf.name_scope("conv1"):
        h = tf.nn.relu(conv2d(tf.reshape(x, [-1, 8, 8, 1]), weight_variable([3, 3, 1, 8])) + bias_variable([8]))
        h = max_pool_2x2(h)
    with tf.name_scope("conv2"):
        h = max_pool_2x2(tf.nn.relu(conv2d(h, weight_variable([3, 3, 8, 16])) + bias_variable([16])))
    with tf.name_scope("fc"):
        size = (h.get_shape()[1] * h.get_shape()[2] * h.shape[3]).value
        flat = tf.reshape(h, [-1, size])
        h = tf.nn.relu(tf.matmul(flat, weight_variable([size, 64])) + bias_variable([64]))
    y = tf.matmul(tf.nn.dropout(h, keep_prob), weight_variable([64, 10])) + bias_variable([10])

    loss = tf.losses.sparse_softmax_cross_entropy(labels=y_, logits=y)
    train_step = tf.train.AdamOptimizer(5e-3).minimize(loss)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(y, 1), y_), tf.float32))

    batches = np.random.RandomState(1)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(250):
            chosen = batches.randint(0, 1400, 50)
            train_step.run(feed_dict={x: images[chosen], y_: labels[chosen], keep_prob: 0.5})
        feed = {x: images[1400:], y_: labels[1400:], keep_prob: 1.0}
        print(f"flat {size}")
        print(f"accuracy {accuracy.eval(feed):.4f}")
        print(f"loss {loss.eval(feed):.4f}")


if __name__ == "__main__":
    main()
