"""Skip-grams with noise-contrastive estimation: words that appear in the same sentences get embeddings that are near.

The corpus is made up. Each sentence is about one of four topics and mixes the words of that topic.
"""

import numpy as np

import actorflow.compat.v1 as tf

TOPICS, WORDS_OF_ONE = 4, 6
VOCABULARY = TOPICS * WORDS_OF_ONE


def corpus(draw):
    sentences = []
    for _ in range(300):
        topic = draw.randint(TOPICS)
        sentences.append(topic * WORDS_OF_ONE + draw.randint(0, WORDS_OF_ONE, 8))
    return sentences


def skip_grams(sentences, window=2):
    pairs = []
    for words in sentences:
        for i, centre in enumerate(words):
            for j in range(max(0, i - window), min(len(words), i + window + 1)):
                if i != j:
                    pairs.append((centre, words[j]))
    return np.array(pairs, np.int32)


def main():
    draw = np.random.RandomState(0)
    pairs = skip_grams(corpus(draw))

    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(2)
        inputs = tf.placeholder(tf.int32, shape=[64])
        labels = tf.placeholder(tf.int32, shape=[64, 1])
        with tf.device("/cpu:0"):
            embeddings = tf.Variable(tf.random_uniform([VOCABULARY, 16], -1.0, 1.0))
            embed = tf.nn.embedding_lookup(embeddings, inputs)
            nce_weights = tf.Variable(tf.truncated_normal([VOCABULARY, 16], stddev=0.25))
            nce_biases = tf.Variable(tf.zeros([VOCABULARY]))
        loss = tf.reduce_mean(
            tf.nn.nce_loss(
                weights=nce_weights,
                biases=nce_biases,
                labels=labels,
                inputs=embed,
                num_sampled=8,
                num_classes=VOCABULARY,
            )
        )
        optimizer = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
        norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keep_dims=True))
        normalized = embeddings / norm
        similarity = tf.matmul(normalized, normalized, transpose_b=True)
        init = tf.global_variables_initializer()

    with tf.Session(graph=graph) as session:
        init.run()
        losses = []
        for _ in range(1500):
            chosen = pairs[draw.randint(0, len(pairs), 64)]
            _, value = session.run([optimizer, loss], feed_dict={inputs: chosen[:, 0], labels: chosen[:, 1:]})
            losses.append(value)
        table = similarity.eval() - 3 * np.eye(VOCABULARY)  # nearest to others

    nearest = table.argmax(axis=1) // WORDS_OF_ONE == np.arange(VOCABULARY) // WORDS_OF_ONE
    print(f"before {np.mean(losses[:50]):.4f}")
    print(f"loss {np.mean(losses[-50:]):.4f}")
    print(f"accuracy {nearest.mean():.4f}")


if __name__ == "__main__":
    main()
