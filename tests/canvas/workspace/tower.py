import flax.linen as nn


class Block(nn.Module):
    width: int = 8

    @nn.compact
    def __call__(self, x):
        return x + nn.relu(nn.Dense(self.width)(x))


class Tower(nn.Module):
    layers: int = 4

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(8, name="stem")(x)
        for layer in range(self.layers):
            x = Block(name=f"blocks_{layer}")(x)
        return nn.Dense(3, name="head")(x)
