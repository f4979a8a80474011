"""Two replicas train one set of weights under MultiWorkerMirroredStrategy."""

import json
import os

import tensorflow as tf


def main() -> None:
    task = json.loads(os.environ["TF_CONFIG"])["task"]
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    print(f"{task['type']} {task['index']} of {strategy.num_replicas_in_sync} replicas", flush=True)
    with strategy.scope():
        weights = tf.Variable(tf.zeros([4, 1]))
    x = tf.random.stateless_normal([64, 4], seed=[1, task["index"]])
    y = tf.reduce_sum(x, axis=1, keepdims=True)

    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weights - y) ** 2)
        gradient = tape.gradient(loss, weights)
        weights.assign_sub(0.2 * tf.distribute.get_replica_context().all_reduce("mean", gradient))
        return loss

    @tf.function
    def run() -> tf.Tensor:
        return strategy.reduce("mean", strategy.run(step), axis=None)

    for _ in range(20):
        loss = run()
    print(f"{task['type']} {task['index']}: loss {float(loss):.4f} after 20 steps", flush=True)


if __name__ == "__main__":
    main()
