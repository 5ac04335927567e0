"""Models whose hierarchy is seen in the graph: shared, nested, copied and repeated modules, and train steps of them."""

import functools
import inspect

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class LinenBlock(nn.Module):
    width: int = 6

    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm()(x)
        y = nn.Dense(self.width * 2, name="up")(y)
        return x + nn.Dense(self.width, name="down")(nn.gelu(y))


class LinenTower(nn.Module):
    """One block twice, another once, and one that a scan repeats."""

    @nn.compact
    def __call__(self, x):
        shared = LinenBlock(name="shared")
        x = nn.relu(shared(nn.relu(shared(x))))
        x = LinenBlock(name="single")(x)
        layers = nn.scan(
            lambda block, carry, _: (block(carry), None),
            variable_axes={"params": 0},
            split_rngs={"params": True},
            length=3,
        )
        x, _ = layers(LinenBlock(name="repeated"), x, None)
        return nn.Dense(2, name="head")(x)


scanned = functools.partial(nn.scan, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)


class ScansItself(nn.Module):
    """The module itself, twice: a scan of scans; and a method of it that stays outside."""

    @nn.compact
    def __call__(self, x):
        def rows(module, carry, _):
            return scanned(lambda module, carry, _: (nn.Dense(6)(carry), None))(module, carry, None)

        return self.ends(scanned(rows)(self, x, None)[0])

    def ends(self, x):
        return nn.relu(x)


class ScannedCall(nn.Module):
    @scanned
    @nn.compact
    def __call__(self, x, _):
        return nn.Dense(6)(x), None


class HasScannedCall(nn.Module):
    @nn.compact
    def __call__(self, x):
        return ScannedCall()(x, None)[0]


def linen_loss(params, x, y):
    return jnp.mean((LinenTower().apply(params, x) - y) ** 2)


def linen_train_step(params, state, x, y):
    loss, grads = jax.value_and_grad(linen_loss)(params, x, y)
    updates, state = optax.adamw(1e-3).update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


def linen_train_inputs():
    x, y = jax.ShapeDtypeStruct((4, 6), jnp.float32), jax.ShapeDtypeStruct((4, 2), jnp.float32)
    params = jax.eval_shape(LinenTower().init, jax.random.key(0), x)
    state = jax.eval_shape(optax.adamw(1e-3).init, params)
    return {"args": (params, state, x, y), "kwargs": {}}


listed = getattr(nnx, "List", list)  # from Flax 0.12 on, plain containers hold no modules
named = getattr(nnx, "Dict", dict) if listed is not list else dict


class Block(nnx.Module):
    def __init__(self, width, *, rngs):
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.up = nnx.Linear(width, width * 2, rngs=rngs)
        self.down = nnx.Linear(width * 2, width, rngs=rngs)

    def feed_forward(self, x):
        return self.down(nnx.gelu(self.up(x)))

    def __call__(self, x):
        return x + self.feed_forward(self.norm(x))


class Wider(Block):
    """Calls what it inherits, and itself."""

    def __call__(self, x, times=2):
        if times:
            return self(super().__call__(x), times - 1)
        return x


class Tower(nnx.Module):
    def __init__(self, width=6, *, rngs):
        self.shared = Block(width, rngs=rngs)
        self.again = self.shared
        self.blocks = listed([Block(width, rngs=rngs) for _ in range(2)])
        self.by_name = named({"a": nnx.Linear(width, width, rngs=rngs)})
        self.wide = Wider(width, rngs=rngs)
        self.head = nnx.Linear(width, 2, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.shared(x))
        x = nnx.relu(self.again(x))
        for block in self.blocks:
            x = block(x)
        x = self.by_name["a"](x)
        return self.head(self.wide(x))


class Transformed(nnx.Module):
    """Modules that transformations take apart: jit, remat, and a scan over stacked layers."""

    def __init__(self, width=6, *, rngs):
        self.first = Block(width, rngs=rngs)
        self.second = Block(width, rngs=rngs)

        @nnx.split_rngs(splits=3)
        @nnx.vmap(in_axes=(0,), out_axes=0)
        def stacked(rngs):
            return Block(width, rngs=rngs)

        self.layers = stacked(rngs)

    @nnx.jit
    def __call__(self, x):
        x = nnx.jit(lambda block, x: block(x))(self.first, x)
        x = nnx.remat(lambda block, x: block(x))(self.second, x)

        @nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
        def run(layer, x):
            return layer(x)

        return run(self.layers, x)


class Tied(nnx.Module):
    """One variable in two modules."""

    def __init__(self, *, rngs):
        self.embed = nnx.Embed(5, 4, rngs=rngs)
        self.unembed = nnx.Linear(4, 5, rngs=rngs)
        self.unembed.extra = self.embed.embedding

    def __call__(self, x):
        return self.unembed(self.embed(x)) + self.unembed.extra.value.sum()


def nnx_train_step(model, optimizer, x, y):
    def loss(model):
        return jnp.mean((model(x) - y) ** 2)

    value, grads = nnx.value_and_grad(loss)(model)
    if "model" in inspect.signature(optimizer.update).parameters:
        optimizer.update(model, grads)
    else:  # before Flax 0.11
        optimizer.update(grads)
    return value


def nnx_train_inputs():
    model = Tower(rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    return {"args": (model, optimizer, jnp.ones((4, 6)), jnp.ones((4, 2))), "kwargs": {}}


def makes_its_model(x):
    model = Block(6, rngs=nnx.Rngs(0))
    return jax.tree.map(jnp.negative, model(x))


def maps_over_models(model, x):
    """Combines the model that it is given with one that it makes: both have to have the same structure."""
    other = Block(6, rngs=nnx.Rngs(0))
    mean = nnx.merge(nnx.graphdef(model), jax.tree.map(jnp.add, nnx.state(model), nnx.state(other)))
    assert nnx.graphdef(other) == nnx.graphdef(nnx.clone(other))
    return mean(x)


def trees_of_models(model, x):
    other = Block(6, rngs=nnx.Rngs(0))
    return jax.tree.map(lambda a, b: a + b, model, other)(x)


def two_models(generator, discriminator, x):
    return discriminator(generator(x))


def block():
    return Block(6, rngs=nnx.Rngs(0))


def block_inputs():
    return {"args": (block(), jnp.ones((2, 6))), "kwargs": {}}


def two_inputs():
    return {"args": (block(), block(), jnp.ones((2, 6))), "kwargs": {}}


GLOBAL = block()
HELD = {"model": block()}
BEFORE = set(vars(HELD["model"]))


def closes_over(x):
    return GLOBAL(x)


def leaves_it_alone(x):
    """What a second trace would meet: a model that no name of the function leads to, after it ran."""
    result = HELD["model"](x)
    assert set(vars(HELD["model"])) == BEFORE
    return result
