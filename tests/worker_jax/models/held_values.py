"""Dataclasses, named tuples and enumerations that models are made with and called with."""

import enum
from dataclasses import dataclass, field
from http import HTTPStatus  # noqa: F401
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn
from flax import nnx, struct


class Act(enum.Enum):
    SIN = enum.auto()
    COS = enum.auto()


@dataclass(frozen=True)
class Part:
    width: int = 4


@dataclass
class Config:
    depth: int
    act: Act = Act.SIN
    part: Part = field(default_factory=Part)

    def __post_init__(self):
        if self.depth < 1:
            raise ValueError("a model has a layer or more")


@struct.dataclass
class Batch:
    x: jax.Array
    train: bool = struct.field(pytree_node=False, default=False)


class State(NamedTuple):
    h: jax.Array
    c: jax.Array


class Plain:
    pass


class Linen(nn.Module):
    config: Config

    @nn.compact
    def __call__(self, x):
        for _ in range(self.config.depth):
            x = nn.Dense(self.config.part.width)(x)
            x = jnp.sin(x) if self.config.act is Act.SIN else jnp.cos(x)
        return x


class Nnx(nnx.Module):
    def __init__(self, config: Config, *, rngs: nnx.Rngs):
        width = config.part.width
        self.layers = nnx.List([nnx.Linear(width, width, rngs=rngs) for _ in range(config.depth)])

    def __call__(self, batch: Batch):
        x = batch.x
        for layer in self.layers:
            x = layer(x)
        return jnp.sin(x) if batch.train else x


def step(state: State, act: Act = Act.SIN):
    return State(jnp.sin(state.h) if act is Act.SIN else jnp.cos(state.h), state.c)


def scaled(x, part: Part):
    return x * part.width


def inputs(part):
    return {"x": jnp.ones((2, part.width)), "part": part}
