"""A residual network of Haiku's own, transformed with state."""

import haiku as hk
import jax


def forward(images, is_training):
    return hk.nets.ResNet18(num_classes=10)(images, is_training)


net = hk.transform_with_state(forward)


def apply(params, state, images):
    return net.apply(params, state, None, images, True)


def inputs():
    images = jax.ShapeDtypeStruct((2, 32, 32, 3), "float32")
    params, state = jax.eval_shape(lambda x: net.init(jax.random.key(0), x, True), images)
    return {"params": params, "state": state, "images": images}
