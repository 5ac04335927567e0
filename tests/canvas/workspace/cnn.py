from flax import nnx


class ConvBlock(nnx.Module):
    def __init__(self, inside, outside, *, rngs):
        self.conv = nnx.Conv(inside, outside, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(outside, use_running_average=True, rngs=rngs)

    def __call__(self, x):
        return nnx.max_pool(nnx.relu(self.norm(self.conv(x))), (2, 2), strides=(2, 2))


class CNN(nnx.Module):
    def __init__(self, classes: int = 10, *, rngs: nnx.Rngs):
        self.stem = ConvBlock(1, 16, rngs=rngs)
        self.body = ConvBlock(16, 32, rngs=rngs)
        self.hidden = nnx.Linear(32 * 7 * 7, 128, rngs=rngs)
        self.head = nnx.Linear(128, classes, rngs=rngs)

    def __call__(self, images):
        x = self.body(self.stem(images))
        x = x.reshape(x.shape[0], -1)
        return self.head(nnx.relu(self.hidden(x)))
