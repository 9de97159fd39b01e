"""Fits a line to noisy points by gradient descent, with flags, a feed and `Tensor.eval`."""

import numpy as np

import actorflow.compat.v1 as tf

tf.flags.DEFINE_float("learning_rate", 0.05, "the step of gradient descent")
tf.flags.DEFINE_integer("epochs", 30, "how often the points are seen")
FLAGS = tf.flags.FLAGS


def main(_):
    tf.set_random_seed(1)
    draw = np.random.RandomState(0)
    xs = draw.uniform(-1, 1, 64).astype(np.float32)
    ys = 3 * xs - 2 + 0.05 * draw.randn(64).astype(np.float32)

    X = tf.placeholder(tf.float32, name="X")
    Y = tf.placeholder(tf.float32, name="Y")
    W = tf.Variable(tf.random_normal([]), name="weight")
    b = tf.Variable(0.0, name="bias")
    prediction = tf.add(tf.multiply(X, W), b)
    cost = tf.reduce_mean(tf.pow(prediction - Y, 2)) / 2
    train = tf.train.GradientDescentOptimizer(FLAGS.learning_rate).minimize(cost)

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(FLAGS.epochs):
            for x, y in zip(xs, ys):
                sess.run(train, feed_dict={X: x, Y: y})
            if epoch % 10 == 0:
                tf.logging.info("epoch %d: cost %g", epoch, sess.run(cost, {X: xs, Y: ys}))
        print(f"slope {W.eval():.4f}")
        print(f"intercept {b.eval():.4f}")
        print(f"loss {cost.eval({X: xs, Y: ys}):.6f}")


if __name__ == "__main__":
    tf.app.run()
