import jax
import jax.numpy as jnp


def deep(x):
    """A hundred thousand operations in 100 blocks of 10 parts, no two blocks alike."""
    for block in range(100):
        with jax.named_scope(f"block_{block}"):
            for part in range(10):
                with jax.named_scope(f"part_{part}"):
                    for step in range(95 + (block + part) % 11):
                        x = jnp.sin(x) if (step + block) % 3 else x + 1.0
    return x
