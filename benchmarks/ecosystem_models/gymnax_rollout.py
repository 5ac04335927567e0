"""Twenty steps of a policy in an environment."""

import gymnax
import jax
import jax.numpy as jnp

environment, parameters = gymnax.make("CartPole-v1")


def rollout(key, weights):
    def step(carry, key):
        observation, state = carry
        action = jnp.argmax(observation @ weights)
        observation, state, reward, done, *_ = environment.step(key, state, action, parameters)
        return (observation, state), (reward, done)

    start, rest = jax.random.split(key)
    _, (rewards, _) = jax.lax.scan(step, environment.reset(start, parameters), jax.random.split(rest, 20))
    return rewards.sum()


def inputs():
    return {"key": jax.random.key(0), "weights": jnp.zeros((4, 2))}
