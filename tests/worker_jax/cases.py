"""The models that the capture is checked on. Read by the tests and, in the models' interpreter, by runner.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


def tensor(*shape: int, dtype: str = "float32") -> dict[str, Any]:
    return {"kind": "tensor", "shape": list(shape), "dtype": dtype}


def factory(module: str, name: str, **kwargs: Any) -> dict[str, Any]:
    return {"factory": {"file": f"{module}.py", "callable": name, "kwargs": kwargs}}


@dataclass
class Case:
    module: str
    qualname: str
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    init: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    streams: tuple[str, ...] = ()
    """Random streams that the reference has to supply."""
    mutable: tuple[str, ...] = ()
    """Collections that the reference has to make mutable."""
    label: str = ""

    @property
    def name(self) -> str:
        return f"{self.qualname}{self.label}"

    @property
    def kind(self) -> str:
        if self.qualname[0].islower():
            return "jax.function"
        return "flax.nnx" if self.module == "nnx_models" else "flax.linen"

    @property
    def setup(self) -> dict[str, Any]:
        return {
            "profile": "test",
            "digest": "sha256:0",
            "framework": "jax",
            "mode": "eval",
            "device": "cpu",
            "seed": 0,
            "init": self.init or {"args": [], "kwargs": {}},
            "inputs": self.inputs or {"args": self.args, "kwargs": self.kwargs},
        }


f32 = tensor
_layer = {"w": tensor(3, 3), "b": tensor(3)}
_attention = [tensor(2, 5, 2, 4)] * 3

FUNCTIONS = [
    Case("functions", "net", [tensor(2, 3)]),
    Case("functions", "mlp", [{"layers": [_layer, _layer]}, tensor(2, 3)]),
    Case("functions", "static_branch", [tensor(2), True, 3], label=":true"),
    Case("functions", "static_branch", [tensor(2), False, 0.5], label=":false"),
    Case("functions", "keyword_only", kwargs={"mask": tensor(2, dtype="bool"), "inputs": tensor(2)}),
    Case("functions", "positional_only", inputs=factory("functions", "make_named", width=3)),
    Case("functions", "jit_static", [tensor(4), 2], {"mode": "prod"}),
    Case("functions", "custom_rules", [tensor(3), tensor(3)]),
    Case("functions", "grad_of_loss", [tensor(3, 2), tensor(5, 3), tensor(5, 2)]),
    Case("functions", "per_example", [tensor(4), tensor(4)]),
    Case("functions", "hessian", [tensor(3)]),
    Case("functions", "remat", [tensor(3)]),
    Case("functions", "scan_cond_while", [tensor(4, 3), tensor(dtype="int32")]),
    Case("functions", "moe_scatter", [tensor(6, 8), tensor(6, dtype="int32")]),
    Case("functions", "sampled", [tensor(dtype="key<fry>"), tensor(2, 2)], label=":fry"),
    Case("functions", "sampled", [tensor(dtype="key<rbg>"), tensor(2, 2)], label=":rbg"),
    Case("functions", "sampled", inputs=factory("functions", "make_keys"), label=":factory"),
    Case("functions", "legacy_key", [tensor(dtype="uint32")]),
    Case("functions", "half_precision", [tensor(2, 3, dtype="bfloat16"), tensor(3, 2, dtype="bfloat16")]),
    Case("functions", "convolution", [tensor(1, 8, 8, 3), tensor(3, 3, 3, 4)]),
    Case("functions", "dot_product_attention", [*_attention, tensor(5, 5, dtype="bool")]),
    Case("functions", "containers", inputs=factory("functions", "make_containers")),
    Case("functions", "odd_outputs", [tensor(2)]),
    Case("functions", "literals", [tensor()]),
    Case("functions", "reused", [tensor(2, 3)]),
    Case("functions", "effects", [tensor(2)]),
    Case("functions", "weak", [tensor(2)]),
    Case("functions", "scopes", [tensor(2)]),
    Case("functions", "numeric", [tensor(3, 3)]),
    Case("functions", "generic_reduce", [tensor(4, 2)]),
    Case("functions", "empty"),
    Case("functions", "identity", [tensor(0, 3, dtype="complex64")]),
    Case("functions", "identity", [[tensor(2, dtype="int4"), {"kind": "tuple", "items": [tensor(1)]}]], label=":int4"),
    Case("functions", "identity", [tensor(2)], init=factory("functions", "make_configured", power=3), label=":object"),
    Case("functions", "identity", [tensor(2)], init=factory("functions", "make_method", power=3), label=":method"),
    Case("linen_models", "train_step", inputs=factory("linen_models", "make_train_inputs"), label=":linen"),
]
LINEN = [
    Case("linen_models", "MLP", [tensor(2, 3)]),
    Case("linen_models", "MLP", [tensor(2, 3)], init={"kwargs": {"width": 5}}, label=":init"),
    Case("linen_models", "MLP", [tensor(2, 3)], init=factory("linen_models", "make_bound", width=6), label=":bound"),
    Case("linen_models", "MLP", [tensor(2, 3)], init=factory("linen_models", "make_unbound", width=7), label=":free"),
    Case("linen_models", "CNN", [tensor(2, 8, 8, 3)], label=":eval"),
    Case("linen_models", "CNN", [tensor(2, 8, 8, 3)], {"train": True}, mutable=("batch_stats",), label=":train"),
    Case("linen_models", "Dropping", [tensor(2, 3)], {"train": True}, streams=("dropout", "noise"), label=":train"),
    Case("linen_models", "Dropping", [tensor(2, 3)], {"train": False}, label=":eval"),
    Case("linen_models", "Block", [tensor(2, 5, 8)], init={"args": [2]}),
    Case("linen_models", "Transformer", [tensor(2, 5, dtype="int32")]),
    Case("linen_models", "Scanned", [tensor(3, 4)], streams=("dropout",)),
    Case("linen_models", "Partitioned", [tensor(2, 3)]),
    Case("linen_models", "Cached", [tensor(2)], mutable=("cache",)),
    Case("linen_models", "Shared", [tensor(2, 3)]),
    Case("linen_models", "OwnInit", [tensor(2, 3)]),
    Case("linen_models", "Jitted", [tensor(5, 3)]),
]
NNX = [
    Case("nnx_models", "MLP", [tensor(2, 3)], init={"args": [3, 4]}),
    Case("nnx_models", "Counter", [tensor(2, 3)]),
    Case("nnx_models", "Counter", [tensor(2, 3)], init=factory("nnx_models", "make_counter"), label=":factory"),
    Case("nnx_models", "Looking", [tensor(3)]),
    Case("nnx_models", "apply_model", [tensor(2, 3)], init=factory("nnx_models", "make_method"), label=":method"),
    Case("nnx_models", "apply_model", [tensor(2, 3)], init=factory("nnx_models", "make_partial"), label=":partial"),
    Case("nnx_models", "train_step", inputs=factory("nnx_models", "make_train_inputs")),
]
CASES = {f"{case.module}.{case.name}": case for case in FUNCTIONS + LINEN + NNX}


@dataclass
class Fault:
    """A setup, or a program, that has to fail: with this kind, at this key or in this phase, saying this."""

    case: Case
    kind: str
    says: str
    key: str = ""
    phase: str = ""
    limits: dict[str, Any] = field(default_factory=dict)
    device: str = "cpu"


def _identity(*args: Any, label: str, **kwargs: Any) -> Case:
    return Case("functions", "identity", list(args), label=label, **kwargs)


_seventeen = [tensor(1)] * 257
FAULTS = {
    fault.case.name: fault
    for fault in [
        Fault(_identity(tensor(2, dtype="float64"), label=":f64"), "dtype", "JAX_ENABLE_X64", "inputs.args[0].dtype"),
        Fault(_identity([tensor(2, dtype="int64")], label=":i64"), "dtype", "narrow", "inputs.args[0][0].dtype"),
        Fault(_identity(tensor(2, dtype="flot32"), label=":typo"), "dtype", "float32", "inputs.args[0].dtype"),
        Fault(_identity(tensor(dtype="key<fri>"), label=":key"), "dtype", "fry", "inputs.args[0].dtype"),
        Fault(_identity(tensor(2, -1), label=":negative"), "setup", "negative", "inputs.args[0].shape[1]"),
        Fault(_identity({**tensor(), "shape": [True]}, label=":bool"), "setup", "boolean", "inputs.args[0].shape[0]"),
        Fault(_identity({**tensor(), "shape": 3}, label=":shape"), "setup", "list", "inputs.args[0].shape"),
        Fault(
            _identity({**tensor(2), "requires_grad": True}, label=":grad"),
            "setup",
            "requires_grad",
            "inputs.args[0].requires_grad",
        ),
        Fault(_identity(_seventeen, label=":arrays"), "limit", "256", "inputs.args[0][256]"),
        Fault(_identity(tensor(2048, 2049), label=":elements"), "limit", "4,194,304", "inputs.args[0]"),
        Fault(_identity(tensor(2), init={"args": [1]}, label=":init"), "init", "inputs", "init.args", "init"),
        Fault(
            _identity(inputs=factory("linen_models", "make_train_inputs"), label=":inputs"),
            "exception",
            "identity",
            phase="trace",
        ),
        Fault(
            _identity(inputs=factory("functions", "make_configured", power=1), label=":mapping"),
            "inputs",
            "mapping",
            "inputs.factory",
        ),
        Fault(
            _identity(init=factory("functions", "make_keys"), label=":callable"),
            "init",
            "callable",
            "init.factory",
            "init",
        ),
        Fault(
            _identity(inputs=factory("functions", "make_wide"), label=":wide"), "dtype", "float64", "inputs.kwargs.x"
        ),
        Fault(
            Case("linen_models", "MLP", [tensor(2, 3)], init=factory("linen_models", "make_other")),
            "init",
            "MLP",
            "init.factory",
        ),
        Fault(Case("functions", "fails", [tensor(4)]), "exception", "shape", phase="trace"),
        Fault(_identity(tensor(2), label=":cuda"), "device", "cuda:3", "device", device="cuda:3"),
        Fault(_identity(tensor(2), label=":device"), "device", "tpu", "device", device="tpu"),
        Fault(
            Case("functions", "numeric", [tensor(3, 3)], label=":operations"),
            "limit",
            "10",
            phase="encode",
            limits={"operations": 10},
        ),
        Fault(
            Case("functions", "scopes", [tensor(3)], label=":scopes"),
            "limit",
            "3",
            phase="encode",
            limits={"scopes": 3},
        ),
        Fault(
            Case("functions", "scopes", [tensor(3)], label=":values"),
            "limit",
            "5",
            phase="encode",
            limits={"values": 5},
        ),
    ]
}
CASES.update(
    {
        f"random:{seed}": Case("functions", "random_program", [tensor(4), tensor(4), seed], label=f":{seed}")
        for seed in range(24)
    }
)
