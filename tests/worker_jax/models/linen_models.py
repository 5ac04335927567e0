"""Linen modules in the forms that people write."""

from collections.abc import Callable, Sequence
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp


class MLP(nn.Module):
    width: int = 8

    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(nn.relu(nn.Dense(self.width)(x)))


class CNN(nn.Module):
    features: Sequence[int] = (4, 8)
    act: Callable[..., Any] = nn.gelu

    @nn.compact
    def __call__(self, x, train: bool = False):
        for width in self.features:
            x = nn.Conv(width, (3, 3))(x)
            x = nn.BatchNorm(use_running_average=not train)(x)
            x = nn.max_pool(self.act(x), (2, 2), (2, 2))
        return nn.Dense(3)(x.reshape(x.shape[0], -1))


class Dropping(nn.Module):
    @nn.compact
    def __call__(self, x, *, train):
        x = nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(x))
        return x, jax.random.normal(self.make_rng("noise"), x.shape) if train else x


class Block(nn.Module):
    heads: int

    def setup(self):
        self.norm = nn.LayerNorm()
        self.attention = nn.MultiHeadDotProductAttention(num_heads=self.heads)
        self.up = nn.Dense(16)
        self.down = nn.Dense(8)

    def feed_forward(self, x):
        return self.down(nn.silu(self.up(x)))

    def __call__(self, x, mask=None):
        x = x + self.attention(self.norm(x), mask=mask)
        return x + self.feed_forward(self.norm(x))


class Transformer(nn.Module):
    layers: int = 2

    @nn.compact
    def __call__(self, tokens):
        embed = nn.Embed(11, 8)
        x = embed(tokens)
        mask = nn.make_causal_mask(tokens)
        for index in range(self.layers):
            x = nn.remat(Block)(2, name=f"block_{index}")(x, mask)
        return embed.attend(x)


class ScannedCell(nn.Module):
    @nn.compact
    def __call__(self, carry, x):
        carry = nn.tanh(nn.Dense(4)(carry) + x)
        return carry, nn.Dropout(0.1, deterministic=False)(carry)


class Scanned(nn.Module):
    @nn.compact
    def __call__(self, x):
        split = {"params": True, "dropout": True}
        cell = nn.scan(ScannedCell, variable_axes={"params": 0}, split_rngs=split, length=x.shape[0])
        return cell()(jnp.zeros(4), x)


class Partitioned(nn.Module):
    @nn.compact
    def __call__(self, x):
        init = nn.with_partitioning(nn.initializers.lecun_normal(), ("embed", "mlp"))
        return nn.Dense(4, kernel_init=init)(x)


class Cached(nn.Module):
    @nn.compact
    def __call__(self, x):
        count = self.variable("cache", "count", lambda: jnp.zeros((), jnp.int32))
        count.value = count.value + 1
        self.sow("intermediates", "x", x)
        return x * count.value


class Shared(nn.Module):
    def setup(self):
        self.inner = nn.Dense(3)

    def __call__(self, x):
        return self.inner(self.inner(x))


class OwnInit(nn.Module):
    """A model with an `init` of its own signature."""

    @nn.compact
    def __call__(self, x):
        return nn.Dense(2)(x)

    def init(self, rng):
        return super().init(rng, jnp.ones((1, 3)))


class Jitted(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.jit(nn.Dense)(4)(x)
        return nn.vmap(nn.Dense, variable_axes={"params": 0}, split_rngs={"params": True})(2)(x)


class Llama(nn.Module):
    """As large as Llama 7B."""

    layers: int = 32
    width: int = 4096
    vocabulary: int = 32_000

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(self.vocabulary, self.width)(tokens)
        for _ in range(self.layers):
            y = nn.RMSNorm()(x)
            q, k, v = (nn.DenseGeneral((32, self.width // 32), use_bias=False)(y) for _ in range(3))
            y = nn.dot_product_attention(q, k, v, mask=nn.make_causal_mask(tokens))
            x = x + nn.DenseGeneral(self.width, axis=(-2, -1), use_bias=False)(y)
            y = nn.RMSNorm()(x)
            gate, up = nn.Dense(11008, use_bias=False)(y), nn.Dense(11008, use_bias=False)(y)
            x = x + nn.Dense(self.width, use_bias=False)(nn.silu(gate) * up)
        return nn.Dense(self.vocabulary, use_bias=False)(nn.RMSNorm()(x))


def make_bound(width):
    model = MLP(width)
    return model.bind(model.init(jax.random.key(1), jnp.ones((1, 3))))


def make_unbound(width):
    return MLP(width)


def make_other():
    return Shared()


def train_loss(params, x):
    return jnp.sum(MLP().apply(params, x) ** 2)


train_step = jax.jit(jax.value_and_grad(train_loss))


def make_train_inputs():
    params = jax.eval_shape(MLP().init, jax.random.key(0), jax.ShapeDtypeStruct((2, 3), jnp.float32))
    return {"args": (params, jnp.ones((2, 3))), "kwargs": {}}
