"""What a setup has to mean: static values, random streams, axes, methods, placements, state."""

import enum
import functools
import os

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

CALLS = []


class Act(enum.Enum):
    RELU = "relu"
    TANH = "tanh"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


def choose(x, *, act, name="plain", level=Level.LOW):
    x = jnp.tanh(x) if act is Act.TANH else jnp.maximum(x, 0)
    return x * int(level) if name == "scaled" else x


def make_choice(act, form):
    return {"x": jnp.ones((2, 3)), "act": Act[act], "name": form, "level": Level.HIGH}


class Noisy(nn.Module):
    """Two streams of its own; returns how often it has been traced."""

    @nn.compact
    def __call__(self, x, train: bool = True):
        CALLS.append("call")
        x = nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(x))
        if train:
            x = x + jax.random.normal(self.make_rng("noise"), x.shape)
        if self.has_rng("extra"):
            x = x + jax.random.normal(self.make_rng("extra"), x.shape)
        return x, len(CALLS)


class Late(nn.Module):
    """Asks for a stream only once it is initialised."""

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(2)(x)
        return x if self.is_initializing() else x + jax.random.normal(self.make_rng("late"), x.shape)


class Twice(nn.Module):
    """One normalisation over the devices of an axis, used twice."""

    @nn.compact
    def __call__(self, x):
        norm = nn.BatchNorm(use_running_average=False, axis_name="batch", name="norm")
        return norm(norm(x))


class SyncNorm(nnx.Module):
    def __init__(self, *, rngs):
        self.norm = nnx.BatchNorm(3, axis_name="devices", rngs=rngs)

    def __call__(self, x):
        return self.norm(x, use_running_average=False)


def summed(x):
    return jax.lax.psum(x, ("data", "model")) + jax.lax.axis_index("data")


def misspelt(x):
    return x + undefined_name  # noqa: F821


class Auto(nn.Module):
    width: int = 5

    def setup(self):
        self.down = nn.Dense(self.width)
        self.up = nn.Dense(3)

    def __call__(self, x):
        return self.decode(self.down(x))

    def decode(self, z, scale: float = 1.0):
        return self.up(z) * scale


class LargerAuto(Auto):
    width: int = 7


class Codec(nnx.Module):
    def __init__(self, width: int = 5, *, rngs):
        self.down = nnx.Linear(3, width, rngs=rngs)
        self.up = nnx.Linear(width, 3, rngs=rngs)

    def __call__(self, x):
        return self.decode(self.down(x))

    def decode(self, z):
        return self.up(z)


class Outer:
    @staticmethod
    def net(x):
        return jnp.sin(x)


class SignNet(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        signed = nn.map_variables(nn.Dense, "params", lambda p: jax.tree.map(jnp.sign, p), init=True)
        return nn.BatchNorm(use_running_average=not train)(signed(3)(x))


class Annotated(nnx.Module):
    """Sharding annotations, and no mesh."""

    def __init__(self, *, rngs):
        init = nnx.with_partitioning(nnx.initializers.lecun_normal(), ("x", "y"))
        self.linear = nnx.Linear(4, 8, kernel_init=init, rngs=rngs)

    def __call__(self, x):
        return self.linear(x)


class Normal:
    """No PyTree."""

    def __init__(self, mean, deviation):
        self.mean = mean
        self.deviation = deviation


def policy(x):
    return {"distribution": Normal(x.mean(), x.std()), "name": "pi", "logits": x * 2, "act": Act.TANH}


def widths(x, y):
    return x + 1, y * 2, jnp.arange(3)


def make_keys():
    return {"first": jax.random.key(0, impl="rbg"), "second": jax.random.split(jax.random.key(1), 4)}


def draw(first, second):
    return jax.random.normal(first, (2,)), jax.vmap(lambda key: jax.random.bits(key, (3,)))(second)


# --- NNX state ---


class Stateful(nnx.Module):
    def __init__(self, *, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.cell = nnx.GRUCell(3, 4, rngs=rngs)
        self.rnn = nnx.RNN(self.cell)

    def __call__(self, x):
        return self.rnn(self.drop(self.norm(x)))

    def normed(self, x):
        return self.norm(x)


def training(x, model):
    model.train()
    return model(x)


KEPT = Stateful(rngs=nnx.Rngs(0))
BEFORE = nnx.split(KEPT)


def anything(*args):
    raise AssertionError("the init factory takes its place")


def kept():
    return KEPT


def kept_method():
    return KEPT.normed


def kept_partial():
    return functools.partial(training, model=KEPT)


def kept_inputs():
    return {"args": (jnp.ones((2, 5, 3)), KEPT), "kwargs": {}}


class Heavy(nnx.Module):
    def __init__(self, megabytes: int):
        self.weight = nnx.Param(jnp.ones((megabytes, 1024, 256), jnp.float32))

    def __call__(self, x):
        return x + self.weight.value.sum()


def heavy(megabytes):
    return Heavy(megabytes)


# --- placement ---


def scaled(x, y):
    return x * 2 + y


def make_sharded(devices):
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:devices]).reshape(devices), ("data",))
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data", None))
    x = jax.device_put(jnp.ones((4, 6)), rows)
    return {"args": (x, jnp.ones((4, 6))), "kwargs": {}}


def make_on_last_device():
    device = jax.devices()[-1]
    return {"args": (jax.device_put(jnp.ones((4, 6)), device), jnp.ones((4, 6))), "kwargs": {}}


class ShardedModel(nnx.Module):
    def __init__(self, kernel):
        self.kernel = nnx.Param(kernel)

    def __call__(self, x):
        return x @ self.kernel.value


def sharded_model():
    return ShardedModel(make_sharded(2)["args"][0])


canary = os.environ.get("TVLS_CANARY")
if canary:
    with open(canary, "w") as stream:
        stream.write("imported")
