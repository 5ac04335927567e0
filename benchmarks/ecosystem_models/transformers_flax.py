"""Flax models of Transformers, small, none of them loaded."""

from transformers import BertConfig, GPT2Config
from transformers.models.bert.modeling_flax_bert import FlaxBertForSequenceClassificationModule
from transformers.models.gpt2.modeling_flax_gpt2 import FlaxGPT2LMHeadModule


def gpt2():
    return FlaxGPT2LMHeadModule(GPT2Config(n_embd=64, n_layer=4, n_head=4, vocab_size=1000, n_positions=32))


def bert():
    config = BertConfig(
        hidden_size=64, num_hidden_layers=4, num_attention_heads=4, intermediate_size=128, vocab_size=1000
    )
    return FlaxBertForSequenceClassificationModule(config)
