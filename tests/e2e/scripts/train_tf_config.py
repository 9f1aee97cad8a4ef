"""TensorFlow's MultiWorkerMirroredStrategy, configured by TF_CONFIG: sums a number over all workers."""

import json
import os

import tensorflow as tf

task = json.loads(os.environ["TF_CONFIG"])["task"]
strategy = tf.distribute.MultiWorkerMirroredStrategy()


@tf.function
def total():
    def one():
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(task["index"] + 1.0))
    return strategy.run(one)


print("%s %d of %d: sum=%d" % (task["type"], task["index"], strategy.num_replicas_in_sync, int(total())), flush=True)
