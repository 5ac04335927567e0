"""What the probe is told about locals."""

from __future__ import annotations

import json
import subprocess

from .conftest import ROOT

SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from tvls.worker.frameworks import jax as adapter
adapter.preload()
from jax._src import xla_bridge
assert not xla_bridge._backends
import threading
assert threading.active_count() == 1
import jax, jax.numpy as jnp, numpy as np
from flax import nnx

class Hostile:
    "Everything about it raises."
    def __getattribute__(self, name):
        raise RuntimeError(name)
    __class__ = property(lambda self: 1 / 0)

class Array(np.ndarray):
    @property
    def shape(self):
        raise RuntimeError("user code")

class Lookalike:
    shape, dtype = (1,), "float32"

found = {}
def note(name, value):
    found[name] = adapter.describe(value)

def traced(x, key):
    note("tracer", x)
    note("key", key)
    note("param", nnx.Param(x))
    jax.grad(lambda v: (note("jvp", v), jnp.sum(v))[1])(x)
    jax.vmap(lambda v: note("batch", v))(x)
    return x

jax.make_jaxpr(traced)(jax.ShapeDtypeStruct((2, 3), jnp.bfloat16), jax.eval_shape(lambda: jax.random.key(0)))
note("numpy", np.zeros((4,), np.int8))
note("concrete", jnp.ones((0, 1)))
note("struct", jax.ShapeDtypeStruct((5,), jnp.float32))
others = {"hostile": Hostile(), "subclass": np.zeros(2).view(Array), "like": Lookalike(), "float": 1.0, "none": None}
others.update({"list": [jnp.ones(1)], "type": jnp.float32, "module": jnp, "object": nnx.Rngs(0)})
for name, value in others.items():
    note(name, value)
print(json.dumps(found))
"""


def test_describe_knows_arrays_and_runs_no_user_code(models_python: str) -> None:
    # R25: called for every local after every line
    command = [models_python, "-B", "-c", SCRIPT, str(ROOT)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "tracer": [[2, 3], "bfloat16"],
        "key": [[], "key<fry>"],
        "param": [[2, 3], "bfloat16"],
        "jvp": [[2, 3], "bfloat16"],
        "batch": [[3], "bfloat16"],
        "numpy": [[4], "int8"],
        "concrete": [[0, 1], "float32"],
        "struct": [[5], "float32"],
        **dict.fromkeys(("hostile", "subclass", "like", "float", "none", "list", "type", "module", "object")),
    }
