"""A training loop of one's own under MultiWorkerMirroredStrategy; TF_CONFIG says who the workers are."""

import json
import os

import tensorflow as tf


def main() -> None:
    task = json.loads(os.environ["TF_CONFIG"])["task"]
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    print(f"worker {task['index']}: {strategy.num_replicas_in_sync} replicas", flush=True)
    with strategy.scope():
        weights = tf.Variable(tf.zeros([4, 1]))

    x = tf.random.stateless_normal([512, 4], seed=[1, 2])
    y = x @ tf.constant([[1.0], [-2.0], [3.0], [0.5]])
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(64)
    batches = strategy.experimental_distribute_dataset(dataset)

    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weights - y) ** 2)
        gradient = tape.gradient(loss, weights)
        context = tf.distribute.get_replica_context()
        weights.assign_sub(0.1 * context.all_reduce("mean", gradient))
        return loss

    @tf.function
    def run(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        losses = strategy.run(step, args=(x, y))
        return strategy.reduce("mean", losses, axis=None)

    for epoch in range(3):
        for x, y in batches:
            loss = run(x, y)
        print(f"worker {task['index']}: epoch {epoch + 1}/3 loss {float(loss):.4f}", flush=True)


if __name__ == "__main__":
    main()
