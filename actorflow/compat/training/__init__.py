"""TensorFlow's blocking faces of what trains: `tf.train.MonitoredTrainingSession` and the like.

loops.py       `tf.train.basic_train_loop`
monitored.py   monitored sessions, with TensorFlow's targets and `ConfigProto`
saver.py       `tf.train.Saver`, `tf.train.Checkpoint`: checkpoints in TensorFlow's format
server.py      `tf.train.Server`
supervisor.py  `tf.train.Supervisor`: a session, and threads that save, write summaries and fill queues
"""
