"""Softmax regression on images of digits: placeholders, a variable of weights, minibatches of gradient descent."""

import numpy as np
from sklearn.datasets import load_digits

import actorflow.compat.v1 as tf


def one_hot(labels):
    return np.eye(10, dtype=np.float32)[labels]


def main():
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    order = np.random.RandomState(0).permutation(len(images))
    images, labels = images[order], one_hot(labels[order])
    train, test = slice(0, 1400), slice(1400, None)

    x = tf.placeholder(tf.float32, [None, 64])
    W = tf.Variable(tf.zeros([64, 10]))
    b = tf.Variable(tf.zeros([10]))
    y = tf.matmul(x, W) + b
    y_ = tf.placeholder(tf.float32, [None, 10])
    cross_entropy = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y_, logits=y))
    train_step = tf.train.GradientDescentOptimizer(0.5).minimize(cross_entropy)
    correct_prediction = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
    accuracy = tf.reduce_mean(tf.cast(correct_prediction, tf.float32))

    sess = tf.InteractiveSession(config=tf.ConfigProto(device_count={"CPU": 1}))
    tf.global_variables_initializer().run()
    batches = np.random.RandomState(1)
    for _ in range(600):
        chosen = batches.randint(0, 1400, 100)
        sess.run(train_step, feed_dict={x: images[train][chosen], y_: labels[train][chosen]})
    print(f"accuracy {accuracy.eval(feed_dict={x: images[test], y_: labels[test]}):.4f}")
    print(f"loss {sess.run(cross_entropy, {x: images[test], y_: labels[test]}):.4f}")
    sess.close()


if __name__ == "__main__":
    main()
