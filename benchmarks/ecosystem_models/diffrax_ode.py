"""A neural differential equation, solved with an adaptive step."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp


def field(t, y, model):
    return model(y)


def solve(model, start):
    return diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Tsit5(),
        t0=0.0,
        t1=1.0,
        dt0=0.1,
        y0=start,
        args=model,
        saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 1.0, 5)),
        stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-6),
    ).ys


def inputs():
    return {"model": eqx.nn.MLP(2, 2, 16, 2, key=jax.random.key(0)), "start": jnp.ones(2)}
