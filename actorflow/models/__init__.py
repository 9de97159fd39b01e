"""Parts of models: inputs, layers, metrics, optimizers, checkpoints and summaries.

data/            datasets and their iterators (`af.data`)
feature_column/  columns of features (`af.feature_column`)
layers/          layers (`af.layers`)
lookup/          tables (`af.lookup`)
metrics/         metrics (`af.metrics`)
queues/          queues and barriers
rnn/             recurrent networks
summary/         summaries and their files (`af.summary`)
train/           optimizers, savers, input pipelines of queues (`af.train`)
"""
