"""GPT-2 of the `transformers` package, a Linen module: its configuration is an object, so a factory makes it."""

from transformers import GPT2Config
from transformers.models.gpt2.modeling_flax_gpt2 import FlaxGPT2LMHeadModule


class GPT2(FlaxGPT2LMHeadModule):
    """The published 124-million-parameter model; nothing is downloaded, parameters stay abstract."""


def make(layers: int) -> GPT2:
    return GPT2(GPT2Config(n_layer=layers))
