"""A convolutional network of Keras 3 on JAX, called without state of its own."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import jax.numpy as jnp
import keras

model = keras.Sequential(
    [
        keras.layers.Input((16, 16, 3)),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dropout(0.5),
        keras.layers.Dense(10, activation="softmax"),
    ]
)


def apply(trainable, others, images):
    outputs, others = model.stateless_call(trainable, others, images, training=False)
    return outputs, others


def inputs():
    def values(variables):
        return [variable.value for variable in variables]

    images = jnp.zeros((2, 16, 16, 3))
    trainable, others = values(model.trainable_variables), values(model.non_trainable_variables)
    return {"trainable": trainable, "others": others, "images": images}
