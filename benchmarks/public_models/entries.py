"""Small configurations of public models, and inputs for them: factories of the profiles that public_models.py writes.

Each entry is named as there. `model_of(NAME)` makes what is opened, where its class or function alone does not say it;
`inputs_of(NAME)` makes the arguments of the call.
"""

import dataclasses
import importlib

import jax
import jax.numpy as jnp
import numpy as np

MODELS = {}
INPUTS = {}


def opened(*args, **kwargs):
    raise AssertionError("the init factory takes its place")


def model_of(name):
    return MODELS[name]()


def inputs_of(name):
    given = INPUTS[name]()
    return given if isinstance(given, dict) else {"args": given, "kwargs": {}}


def has_model(name):
    return name in MODELS


def model(function):
    MODELS[function.__name__.removeprefix("model_")] = function


def inputs(function):
    INPUTS[function.__name__.removeprefix("inputs_")] = function


def f32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def i32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def of(module, name):
    return getattr(importlib.import_module(module), name)


# --- Linen -----------------------------------------------------------------------------------------------------------


@model
def model_vit_jax_mixer():
    import ml_collections

    sizes = {"num_classes": 10, "num_blocks": 2, "hidden_dim": 16, "tokens_mlp_dim": 8, "channels_mlp_dim": 32}
    return of("vit_jax.models_mixer", "MlpMixer")(patches=ml_collections.ConfigDict({"size": (8, 8)}), **sizes)


@inputs
def inputs_vit_jax_mixer():
    return {"args": (f32(2, 32, 32, 3),), "kwargs": {"train": False}}


@model
def model_vit_jax_vit():
    import ml_collections

    transformer = {
        "mlp_dim": 32,
        "num_heads": 2,
        "num_layers": 2,
        "dropout_rate": 0.1,
        "attention_dropout_rate": 0.0,
    }
    patches = ml_collections.ConfigDict({"size": (8, 8)})
    cls = of("vit_jax.models_vit", "VisionTransformer")
    return cls(num_classes=10, patches=patches, transformer=transformer, hidden_size=16)


@inputs
def inputs_vit_jax_vit():
    return {"args": (f32(2, 32, 32, 3),), "kwargs": {"train": True}}


@model
def model_t5x_attention():
    return of("layers", "MultiHeadDotProductAttention")(num_heads=2, head_dim=8, dtype=jnp.float32)


@inputs
def inputs_t5x_attention():
    return {"args": (f32(2, 5, 16), f32(2, 5, 16)), "kwargs": {"deterministic": True}}


@model
def model_jaxrl_policy():
    return of("jaxrl.networks.policies", "NormalTanhPolicy")(hidden_dims=(16, 16), action_dim=3)


@inputs
def inputs_jaxrl_policy():
    return (f32(4, 11),)


@model
def model_gpt_jax():
    sizes = {"block_size": 16, "vocab_size": 50, "num_layers": 2, "num_heads": 2, "num_embeds": 16}
    module = of("model", "GPT")(of("model", "GPTConfig")(**sizes))
    # its `init` takes a key alone, and its own example
    variables = jax.eval_shape(module.init, jax.random.key(0))
    return module.bind(variables)


@inputs
def inputs_gpt_jax():
    return {"args": (i32(2, 16),), "kwargs": {"deterministic": True}}


def _flax_config(**more):
    sizes = {"emb_dim": 32, "num_heads": 4, "num_layers": 2, "qkv_dim": 32, "mlp_dim": 64, "max_len": 16}
    return of("models", "TransformerConfig")(vocab_size=100, output_vocab_size=100, **sizes, **more)


@model
def model_flax_wmt():
    return of("models", "Transformer")(_flax_config())


@inputs
def inputs_flax_wmt():
    return (i32(2, 8), i32(2, 8))


@model
def model_flax_lm1b():
    return of("models", "TransformerLM")(_flax_config())


@inputs
def inputs_flax_lm1b():
    return (i32(2, 16),)


@model
def model_flax_nlp_seq():
    return of("models", "Transformer")(_flax_config())


@inputs
def inputs_flax_nlp_seq():
    return {"args": (), "kwargs": {"inputs": i32(2, 16), "train": True}}


@model
def model_flax_sst2():
    sizes = {"embedding_size": 8, "hidden_size": 8, "vocab_size": 20, "output_size": 1}
    return of("models", "TextClassifier")(**sizes, dropout_rate=0.1, word_dropout_rate=0.1)


@inputs
def inputs_flax_sst2():
    return {"args": (i32(2, 7), i32(2)), "kwargs": {"deterministic": False}}


@model
def model_flax_imagenet():
    return of("models", "ResNet18")(num_classes=10, dtype=jnp.float32)


@inputs
def inputs_flax_imagenet():
    return {"args": (f32(2, 64, 64, 3),), "kwargs": {"train": True}}


@model
def model_flax_attention():
    return of("attention_simple", "MultiHeadDotProductAttention")(num_heads=2)


@inputs
def inputs_flax_attention():
    return (f32(2, 3, 8), f32(2, 3, 8))


@model
def model_flaxmodels_resnet():
    return of("flaxmodels.resnet.resnet", "ResNet18")(pretrained=None)


@inputs
def inputs_flaxmodels_resnet():
    return (f32(1, 64, 64, 3),)


@model
def model_nanodo():
    module = importlib.import_module("nanodo.model")
    return module.TransformerDo(module.DoConfig(D=16, H=2, L=8, N=2, V=50, F=32, remat=True))


@inputs
def inputs_nanodo():
    return (i32(2, 8),)


def _big_vision(name, cls, variant, *call, **fields):
    def make():
        import sys
        import types

        # what loads checkpoints needs TensorFlow, and no model needs it
        sys.modules["big_vision.utils"] = importlib.import_module("big_vision").utils = types.ModuleType("utils")
        module = of(variant, cls)(**fields)
        variables = jax.eval_shape(module.init, jax.random.key(0), *call)
        INPUTS[name] = lambda: (variables, *call)

        def apply(variables, image):
            return module.apply(variables, image)

        return apply

    MODELS[name] = make


_big_vision(
    "big_vision_vit",
    "_Model",
    "big_vision.models.vit",
    f32(2, 32, 32, 3),
    num_classes=10,
    patch_size=(8, 8),
    width=16,
    depth=3,
    num_heads=2,
    scan=True,
)
_big_vision(
    "big_vision_bit", "Model", "big_vision.models.bit", f32(2, 64, 64, 3), num_classes=10, width=1, depth=(1, 1, 1, 1)
)


def _transformers(family, config, cls, **sizes):
    def make():
        import transformers

        return of(f"transformers.models.{family}.modeling_flax_{family}", cls)(getattr(transformers, config)(**sizes))

    return make


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
MODELS["hf_gpt2"] = _transformers("gpt2", "GPT2Config", "FlaxGPT2LMHeadModule", n_embd=32, n_layer=2, n_head=2)
MODELS["hf_llama"] = _transformers("llama", "LlamaConfig", "FlaxLlamaForCausalLMModule", **SMALL)
MODELS["hf_vit"] = _transformers("vit", "ViTConfig", "FlaxViTModule", image_size=32, patch_size=8, **SMALL)
MODELS["hf_t5"] = _transformers(
    "t5", "T5Config", "FlaxT5ForConditionalGenerationModule", d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2
)
INPUTS["hf_gpt2"] = INPUTS["hf_llama"] = lambda: (i32(2, 8), i32(2, 8), i32(2, 8))
INPUTS["hf_vit"] = lambda: (f32(2, 32, 32, 3),)
INPUTS["hf_t5"] = lambda: (i32(2, 8), i32(2, 8), i32(2, 8), i32(2, 8))


# --- NNX -------------------------------------------------------------------------------------------------------------


def _rngs():
    from flax import nnx

    return nnx.Rngs(0)


@model
def model_flax_gemma():
    config = importlib.import_module("transformer_cfg")
    sizes = {"num_layers": 2, "num_embed": 32, "embed_dim": 16, "hidden_dim": 32, "num_heads": 2, "head_dim": 8}
    return of("transformer", "Transformer")(
        config.TransformerConfig(
            **sizes,
            num_kv_heads=1,
            final_logit_softcap=None,
            use_post_attn_norm=False,
            use_post_ffw_norm=False,
            attention_types=[config.AttentionType.GLOBAL] * 2,
        ),
        rngs=_rngs(),
    )


@inputs
def inputs_flax_gemma():
    return (i32(1, 8), i32(1, 8), None, jax.ShapeDtypeStruct((1, 8, 8), jnp.bool_))


@model
def model_flax_scan_mlp():
    return of("06_scan_over_layers", "ScanMLP")(10, n_layers=5, rngs=_rngs())


@inputs
def inputs_flax_scan_mlp():
    return (f32(3, 10),)


@model
def model_bonsai_mamba2():
    module = importlib.import_module("bonsai.models.mamba2.modeling")
    return module.Mamba2ForCausalLM(module.ModelConfig.tiny(), rngs=_rngs())


@inputs
def inputs_bonsai_mamba2():
    return (i32(1, 16),)


@model
def model_bonsai_vit():
    module = importlib.import_module("bonsai.models.vit.modeling")
    config = module.ModelConfig((32, 32), (8, 8), 3, 16, 0.0, 0.0, 2, 32, 1e-12, 2, 10)
    return module.ViTClassificationModel(config, rngs=_rngs())


@inputs
def inputs_bonsai_vit():
    return {"args": (f32(1, 32, 32, 3),), "kwargs": {"rngs": None}}


@model
def model_flax_mlpmixer():
    sizes = {"num_blocks": 2, "hidden_dim": 16, "tokens_mlp_dim": 8, "channels_mlp_dim": 8}
    cls = of("nnx_mlpmixer_training", "MlpMixer")
    return cls(din=3, kernel_size=(2, 2), strides=(2, 2), **sizes, rngs=_rngs())


@inputs
def inputs_flax_mlpmixer():
    return (f32(1, 8, 8, 3), f32(1))


# --- functions -------------------------------------------------------------------------------------------------------


@inputs
def inputs_multinerf_encoding():
    return {"args": (f32(4, 3), f32(4, 3)), "kwargs": {"min_deg": 0, "max_deg": 4}}


@inputs
def inputs_mesh_transformer():
    return (f32(2, 4, 8),)


@model
def model_jax_md():
    space, energy = importlib.import_module("jax_md.space"), importlib.import_module("jax_md.energy")
    displacement, _ = space.periodic(4.0)
    return energy.lennard_jones_pair(displacement)


@inputs
def inputs_jax_md():
    return (f32(8, 2),)


@inputs
def inputs_brax_euler():
    return (f32(4),)


@model
def model_brax_policy():
    network = of("brax.training.networks", "make_policy_network")(4, 8)
    parameters = jax.eval_shape(network.init, jax.random.key(0))

    def policy(parameters, observations):
        return network.apply(None, parameters, observations)

    INPUTS["brax_policy"] = lambda: (parameters, f32(3, 8))
    return policy


PENDULUM = """
<mujoco><worldbody><body><joint type="hinge" axis="0 1 0"/><geom type="capsule" size="0.05" fromto="0 0 0 0 0 -0.5"/>
</body></worldbody></mujoco>
"""


@model
def model_mjx_step():
    import mujoco
    from mujoco import mjx

    made = mujoco.MjModel.from_xml_string(PENDULUM)
    device = mjx.put_model(made)
    data = mjx.put_data(made, mujoco.MjData(made))
    INPUTS["mjx_step"] = lambda: (data,)
    return lambda data: mjx.step(device, data)


@inputs
def inputs_mjx_closest():
    return (f32(3), f32(3), f32(3), f32(3))


@model
def model_equinox_attention():
    import equinox

    attention = equinox.nn.MultiheadAttention(num_heads=2, query_size=8, key=jax.random.key(0))
    return lambda x: attention(x, x, x)


@inputs
def inputs_equinox_attention():
    return (f32(5, 8),)


@model
def model_gymnax_step():
    import gymnax

    environment, parameters = gymnax.make("CartPole-v1")
    _, state = environment.reset(jax.random.key(0), parameters)
    INPUTS["gymnax_step"] = lambda: (jax.random.key(1), state, jnp.int32(1))
    return lambda key, state, action: environment.step(key, state, action, parameters)


@model
def model_pgx_go():
    go = of("pgx.go", "Go")(size=5)
    state = go.init(jax.random.key(0))
    INPUTS["pgx_go"] = lambda: (state, jnp.int32(3))
    return go.step


@model
def model_haiku_resnet50():
    import haiku

    def forward(x):
        return haiku.nets.ResNet50(num_classes=10)(x, is_training=True)

    program = haiku.transform_with_state(forward)
    parameters, state = jax.eval_shape(program.init, jax.random.key(0), f32(1, 64, 64, 3))
    INPUTS["haiku_resnet50"] = lambda: (parameters, state, jax.random.key(0), f32(1, 64, 64, 3))
    return program.apply


@model
def model_jax_pallas():
    from jax.experimental import pallas

    def add(x, y, out):
        out[...] = x[...] + y[...]

    return pallas.pallas_call(add, out_shape=f32(8), interpret=True)


@inputs
def inputs_jax_pallas():
    return (f32(8), f32(8))


@model
def model_tinygp():
    import tinygp

    def log_probability(x, y):
        return tinygp.GaussianProcess(tinygp.kernels.ExpSquared(), x, diag=0.1).log_probability(y)

    return log_probability


@inputs
def inputs_tinygp():
    return (f32(6), f32(6))


@inputs
def inputs_optax_ctc():
    return (f32(2, 10, 5), f32(2, 10), i32(2, 4), f32(2, 4))


# --- the other count -------------------------------------------------------------------------------------------------


def jaxpr_of(name, target):
    """What plain JAX makes of the entry: the jaxpr of its call, without anything of the server."""
    made = model_of(name) if has_model(name) else target
    call = inputs_of(name)
    leaves, treedef = jax.tree.flatten((call["args"], call["kwargs"]))
    arrays = [i for i, leaf in enumerate(leaves) if isinstance(leaf, (jax.Array, np.ndarray, jax.ShapeDtypeStruct))]
    merge, state = _apart(made, *jax.tree.unflatten(treedef, leaves))

    def run(state, tracers):
        merged = list(leaves)
        for at, tracer in zip(arrays, tracers, strict=True):
            merged[at] = tracer
        args, kwargs = jax.tree.unflatten(treedef, merged)
        result = merge(state, *args, **kwargs)
        return [leaf for leaf in _leaves(result) if isinstance(leaf, jax.Array)]

    # the axis that batch statistics are shared over, where a model names one
    return jax.make_jaxpr(run, axis_env=[("batch", 1)])(state, [leaves[at] for at in arrays]).jaxpr


def _leaves(result):
    found = []
    for leaf in jax.tree.leaves(result):
        fields = dataclasses.fields(leaf) if dataclasses.is_dataclass(leaf) else ()
        found += [getattr(leaf, field.name) for field in fields] or [leaf]
    return found


def _apart(made, args, kwargs):
    """A pure function of the state of a model and of the arguments, and the state."""
    from flax import linen, nnx

    if isinstance(made, nnx.Module):
        graphdef, state = nnx.split(made)

        def call(state, *args, **kwargs):
            merged = nnx.merge(graphdef, state)
            return merged(*args, **kwargs), nnx.state(merged)

        return call, state
    if not isinstance(made, linen.Module):
        return (lambda state, *args, **kwargs: made(*args, **kwargs)), None
    streams = {"dropout": jax.random.key(0)}
    if made.scope is not None:
        module, variables = made.unbind()
    else:
        module = made
        arrays = [leaf for leaf in jax.tree.leaves((args, kwargs)) if hasattr(leaf, "shape")]
        leaves, treedef = jax.tree.flatten((args, kwargs))

        def initialise(*arrays):
            given = iter(arrays)
            again = [next(given) if hasattr(leaf, "shape") else leaf for leaf in leaves]
            args, kwargs = jax.tree.unflatten(treedef, again)
            return module.init({"params": jax.random.key(0), **streams}, *args, **kwargs)

        variables = jax.eval_shape(initialise, *arrays)
    mutable = [name for name in variables if name != "params"]

    def apply(state, *args, **kwargs):
        return module.apply(state[0], *args, rngs=state[1], mutable=mutable, **kwargs)

    return apply, (variables, streams)
