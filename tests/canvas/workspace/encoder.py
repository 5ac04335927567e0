import flax.linen as nn
import jax
import jax.numpy as jnp
import optax


class Block(nn.Module):
    width: int = 64
    heads: int = 4

    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm(name="norm_attention")(x)
        x = x + nn.MultiHeadDotProductAttention(self.heads, name="attention")(y)
        y = nn.LayerNorm(name="norm_mlp")(x)
        y = nn.Dense(4 * self.width, name="up")(y)
        return x + nn.Dense(self.width, name="down")(nn.gelu(y))


class Encoder(nn.Module):
    layers: int = 6
    width: int = 64

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(1000, self.width, name="tokens")(tokens)
        x = x + self.param("positions", nn.initializers.zeros, (tokens.shape[1], self.width))
        for layer in range(self.layers):
            x = Block(self.width, name=f"layers_{layer}")(x)
        return nn.Dense(1000, name="head")(nn.LayerNorm(name="norm")(x))


def loss(params, tokens, targets):
    logits = Encoder(layers=2).apply(params, tokens)
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()


def train_step(params, state, tokens, targets):
    value, gradients = jax.value_and_grad(loss)(params, tokens, targets)
    updates, state = optax.adamw(1e-3).update(gradients, state, params)
    return optax.apply_updates(params, updates), state, value


def train_inputs():
    tokens = jax.ShapeDtypeStruct((2, 16), jnp.int32)
    params = jax.eval_shape(Encoder(layers=2).init, jax.random.key(0), tokens)
    state = jax.eval_shape(optax.adamw(1e-3).init, params)
    return {"args": (params, state, tokens, tokens), "kwargs": {}}
