"""What names of JAX, Flax, Equinox, Haiku and PyTorch denote. No library is imported for this."""

# ruff: noqa: SIM905 - lists of names read better as text

from __future__ import annotations

import builtins
import re

from tvls.capture.document import TargetKind

LIBRARIES = frozenset({"jax", "flax", "torch", "equinox", "haiku"})
MENTIONS = (b"jax", b"flax", b"torch", b"equinox", b"haiku", b"lightning", b"transformers", b"timm", b"diffusers")
"""A file with none of these in its bytes can only reach a framework through another file of the workspace."""

LIBRARY_MARKS = {"jax": "_src", "flax": "linen", "torch": "_C", "equinox": "_filters.py", "haiku": "_src"}
"""An entry that tells the library's own source tree from a local package that merely has its name."""

ROOT_CLASSES: dict[str, TargetKind] = {
    "flax.linen.Module": "flax.linen",
    "flax.linen.module.Module": "flax.linen",
    "flax.nnx.Module": "flax.nnx",
    "flax.nnx.module.Module": "flax.nnx",
    "torch.nn.Module": "torch.module",
    "torch.nn.modules.Module": "torch.module",
    "torch.nn.modules.module.Module": "torch.module",
    "equinox.Module": "jax.function",  # a function of arrays, with arrays in it; in Equinox's own source there are none
}

ENUMERATIONS = frozenset(f"enum.{name}" for name in "Enum IntEnum StrEnum Flag IntFlag ReprEnum".split())
RECORDS = frozenset({"typing.NamedTuple", "typing_extensions.NamedTuple", "flax.struct.PyTreeNode"})
"""Classes whose subclasses have their annotated names as parameters of the constructor, as dataclasses have."""

_OTHER_CLASSES: dict[str, TargetKind] = {
    "flax.nnx.bridge.Module": "flax.nnx",
    "flax.nnx.bridge.ToNNX": "flax.nnx",
    "flax.nnx.bridge.ToLinen": "flax.linen",
    "torch.jit.ScriptModule": "torch.module",
    "torch.fx.GraphModule": "torch.module",
    "torch.nn.parallel.DistributedDataParallel": "torch.module",
}

_LAYER_NAMESPACES: tuple[tuple[str, TargetKind], ...] = (
    ("flax.linen", "flax.linen"),
    ("flax.nnx", "flax.nnx"),
    ("torch.nn", "torch.module"),
    ("equinox.nn", "jax.function"),
)
BARE_BASES = frozenset(
    {"abc.ABC", "builtins.object", "object", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol"}
)
"""Bases that declare no fields."""
_LAYER_SUBMODULES = frozenset(
    "attention batch_apply combinators fp8_ops linear normalization recurrent stochastic activation "
    "activations lora module nn modules container conv dropout pooling rnn sparse transformer batchnorm "
    "instancenorm flatten fold loss padding pixelshuffle upsampling distance channelshuffle adaptive quantized".split()
)
_NOT_MODULES: dict[TargetKind, frozenset[str]] = {
    "flax.linen": frozenset(
        "BatchApply DenyList FrozenDict LogicallyPartitioned Partitioned Variable Initializer LogicalNames "
        "CollectionFilter FrozenVariableDict VariableDict ParentRNGKey Scope".split()
    ),
    "flax.nnx": frozenset(
        "A All Any Accuracy Average BatchStat Cache Carry Data DiffState EMA Everything FlatState GraphDef GraphNode "
        "GraphState Initializer Intermediate LoRAParam M MergeContext Metric ModelAndOptimizer ModuleDefApply "
        "MultiMetric NodeRef "
        "NodeStates Not Nothing Object OfType OptArray OptState OptVariable Optimizer Param PathContains Perturbation "
        "PureState Pytree RngCount RngKey RngState RngStream Rngs SplitContext State StateAxes StateSharding "
        "Static TrainState UpdateContext Variable VariableDef VariableMetadata VariableState Welford WithTag "
        "PytreeMeta ObjectMeta".split()
    ),
    "torch.module": frozenset(
        "Buffer Parameter UninitializedBuffer UninitializedParameter ScalingType SwizzleType".split()
    ),
    "jax.function": frozenset({"Shared", "State", "StateIndex"}),
}
"""Names in capitals of those namespaces that are not module classes."""

_CLASS = r"(?:\w+\.)*_?[A-Z]\w*"
_BUILT_ON_PYTORCH = {
    "diffusers": r"(?:\w+\.)*(?:ModelMixin|Autoencoder\w+|[A-Z]\w*Model)",
    "gpytorch": rf"Module|module\.Module|(?:models|kernels|means|likelihoods)\.{_CLASS}",
    "lightning": r"(?:\w+\.)*LightningModule",
    "monai": rf"networks\.(?:nets|blocks|layers)\.{_CLASS}",
    "pyro": r"nn\.(?:module\.)?PyroModule",
    "pytorch_lightning": r"(?:\w+\.)*LightningModule",
    "segmentation_models_pytorch": _CLASS,
    "timm": rf"(?:models|layers)\.{_CLASS}(?<!Cfg)",
    "torch_geometric": rf"nn\.{_CLASS}",
    "torchvision": rf"(?:models|ops)\.{_CLASS}(?<!Weights)(?<!Config)(?<!Outputs)(?<!Enum)",
    "transformers": r"(?!TF|Flax|AutoModel|DataCollator)[A-Z]\w*"
    r"(?:Model|For[A-Z]\w*|WithProjection|Backbone|Layer|Encoder|Decoder)"
    r"|modeling_utils\.PreTrainedModel|models\.\w+\.modeling_(?!tf_|flax_)\w+"
    r"\.(?:[A-Z]\w*(?<!Output)(?<!Config)|[A-Z][a-z]+(?:Self|Cross)?Output)",
}
"""Classes of libraries that subclass `torch.nn.Module`, by how their names are built."""


_MODULE_MAKERS = re.compile(
    r"torchvision\.models\.(?:\w+\.)*[a-z]\w*|timm\.(?:models\.)?create_model|torch\.hub\.load"
    r"|(?:transformers|diffusers)\.(?:\w+\.)*[A-Z]\w*\.from_(?:pretrained|config)"
)


def makes_module(name: str) -> bool:
    """Whether a function of a library makes a module of PyTorch."""
    return _MODULE_MAKERS.fullmatch(name) is not None


def class_kind(name: str) -> TargetKind | None:
    """Kind of a library class by canonical name: the base classes and the layers built on them."""
    name = name.replace("flax.experimental.nnx", "flax.nnx", 1)
    if kind := ROOT_CLASSES.get(name) or _OTHER_CLASSES.get(name):
        return kind
    for namespace, kind in _LAYER_NAMESPACES:
        if name.startswith(namespace + "."):
            *middle, last = name[len(namespace) + 1 :].split(".")
            constant = last.isupper() and "_" in last
            first = last.lstrip("_")[:1] if kind == "torch.module" else last[0]  # `_Loss` and `_BatchNorm` are bases
            if all(part in _LAYER_SUBMODULES for part in middle) and first.isupper() and not constant:
                return None if last in _NOT_MODULES[kind] else kind
            return None
    library, _, rest = name.partition(".")
    built = _BUILT_ON_PYTORCH.get(library)
    return "torch.module" if built is not None and re.fullmatch(built, rest) else None


_TRANSFORMS = frozenset(
    "jit vmap pmap grad value_and_grad jacfwd jacrev jacobian hessian jvp vjp fwd_and_bwd linearize linear_transpose "
    "checkpoint remat custom_jvp custom_vjp custom_gradient closure_convert named_call shard_map smap xmap pjit "
    "pure_callback soft_pmap softmax_custom_jvp reshard".split()
)
MAKES_FUNCTION = frozenset(
    "jit vmap pmap grad value_and_grad jacfwd jacrev jacobian hessian checkpoint remat custom_jvp custom_vjp shard_map "
    "smap named_call fwd_and_bwd pjit xmap".split()
)
"""Transforms whose result is again a function of arrays."""
HAIKU_TRANSFORMS = frozenset(
    f"haiku.{name}"
    for name in "transform transform_with_state without_apply_rng without_state with_empty_state".split()
)
"""What makes a program of a function that makes Haiku modules, or changes how such a program is applied."""
_EQUINOX_TRANSFORMS = frozenset(
    f"equinox.filter_{name}"
    for name in "jit vmap pmap grad value_and_grad jvp vjp jacfwd jacrev hessian checkpoint shard custom_jvp "
    "custom_vjp".split()
)
_DECORATORS_ONLY = frozenset("named_scope default_matmul_precision enable_x64 disable_jit".split())
_FLAX_TRANSFORMS = frozenset(
    "jit vmap pmap scan grad value_and_grad jvp vjp remat remat_scan checkpoint custom_vjp shard_map cond switch "
    "while_loop fori_loop named_call".split()
)
_FLAX_TRANSFORM_MODULES = ("flax.nnx.transforms", "flax.linen.transforms", "flax.core.lift")
_FLAX_OPERATIONS = frozenset(
    "celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid log_softmax logsumexp "
    "normalize one_hot relu relu6 selu sigmoid silu soft_sign softmax softplus standardize swish tanh avg_pool "
    "max_pool min_pool pool dot_product_attention dot_product_attention_weights make_attention_mask make_causal_mask "
    "combine_masks".split()
)
"""Functions on arrays that Flax exports, most of them `jax.nn` under another name."""

_OPERATION_NAMESPACES = tuple(
    f"jax.{name}."
    for name in (
        "numpy lax nn random scipy ops image fft custom_batching custom_derivatives ad_checkpoint _src.numpy _src.lax "
        "_src.nn _src.random _src.scipy experimental.pallas experimental.sparse experimental.ode experimental.jet "
        "experimental.shard_map experimental.pjit experimental.maps experimental.host_callback experimental.checkify "
        "experimental.array_api"
    ).split()
)
_EXPERIMENTAL_OPERATIONS = frozenset(
    {"jax.experimental.io_callback", "jax.experimental.pjit", "jax.experimental.shard_map"}
)
_NOT_OPERATIONS = ("jax.nn.initializers.",)
_ABOUT_ARRAYS = frozenset(
    "dtype issubdtype isdtype finfo iinfo shape ndim size result_type promote_types can_cast isscalar iterable "
    "set_printoptions get_printoptions printoptions array_repr array_str save savez load "
    "ComplexWarning canonicalize_dtype e pi inf nan newaxis euler_gamma ndarray generic number integer signedinteger "
    "unsignedinteger inexact floating complexfloating flexible character ufunc index_exp s_ "
    "bool object_".split()
)
"""Names of `jax.numpy` that ask about arrays or name constants and types: no operation of a program."""


def _is_dtype(name: str) -> bool:
    stem = name.rstrip("_")
    return stem in {
        "double",
        "single",
        "half",
        "csingle",
        "cdouble",
        "bool",
        "bfloat16",
        "int",
        "uint",
        "float",
        "complex",
    } or (
        stem.startswith(("int", "uint", "float", "complex")) and stem.lstrip("abcdefghijklmnopqrstuvwxyz")[:1].isdigit()
    )


def is_transform(name: str) -> bool:
    """True for `jax.jit` and its kind, Flax's lifted forms included."""
    head, _, last = name.rpartition(".")
    if head in {"flax.nnx", "flax.linen", "flax.experimental.nnx"} or head.startswith(_FLAX_TRANSFORM_MODULES):
        return last in _FLAX_TRANSFORMS
    return name.startswith("jax.") and last in _TRANSFORMS


def decorates(name: str) -> bool:
    """True for a callable that, as a decorator, says that the function is a JAX program."""
    if name in HAIKU_TRANSFORMS or name in _EQUINOX_TRANSFORMS:
        return True
    return is_transform(name) or (name.startswith("jax.") and name.rpartition(".")[2] in _DECORATORS_ONLY)


def is_operation(name: str, called: bool) -> bool:
    """True where the use of a library name puts something into a JAX program.

    A dtype counts when it is called (`jnp.float32(x)` makes an array), not when it is named (`x.astype(jnp.float32)`).
    """
    head, _, last = name.rpartition(".")
    if is_transform(name) or name in _EXPERIMENTAL_OPERATIONS:
        return True
    if head in {"flax.nnx", "flax.linen", "flax.linen.activation", "flax.linen.attention"}:
        return last in _FLAX_OPERATIONS
    if not name.startswith(_OPERATION_NAMESPACES) or name.startswith(_NOT_OPERATIONS):
        return False
    if last in _ABOUT_ARRAYS or last.startswith("_"):
        return False
    if _is_dtype(last):
        return called
    return not last[0].isupper() or last == "PRNGKey"


_BUILTINS = frozenset(dir(builtins))


def star_exports(module: str, name: str) -> bool:
    """May `from module import *` of a library bind `name`? Unknown names of known namespaces may; builtins may not."""
    return not name.startswith("_") and name not in _BUILTINS and module.split(".")[0] in LIBRARIES
