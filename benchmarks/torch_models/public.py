"""Models of public libraries, each made by a function without arguments, and by no download."""

from __future__ import annotations

import torch


def resnet50():
    import torchvision

    return torchvision.models.resnet50(weights=None)


def vit_b_16():
    import torchvision

    return torchvision.models.vit_b_16(weights=None)


def faster_rcnn():
    import torchvision

    return torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None)


def images():
    return {"args": ([torch.rand(3, 240, 320)],), "kwargs": {}}


def raft():
    import torchvision

    return torchvision.models.optical_flow.raft_small(weights=None)


def frames():
    return {"args": (torch.rand(1, 3, 128, 160), torch.rand(1, 3, 128, 160)), "kwargs": {"num_flow_updates": 3}}


def quantised():
    import torchvision

    return torchvision.models.quantization.resnet18(weights=None, quantize=True)


def _timm(name: str):
    import timm

    return timm.create_model(name, pretrained=False)


def convnext():
    return _timm("convnext_tiny")


def efficientnet():
    return _timm("efficientnet_b0")


def swin():
    return _timm("swin_tiny_patch4_window7_224")


def bert():
    from transformers import BertConfig, BertModel

    return BertModel(BertConfig(num_hidden_layers=4, hidden_size=256, num_attention_heads=4, intermediate_size=1024))


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=256, n_head=4))


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    small = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2}
    return LlamaForCausalLM(LlamaConfig(vocab_size=2048, intermediate_size=688, **small))


def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    return T5ForConditionalGeneration(T5Config(vocab_size=2048, d_model=128, d_ff=512, num_layers=2, num_heads=4))


def clip():
    from transformers import CLIPConfig, CLIPModel

    both = {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128}
    text = both | {"vocab_size": 1000, "bos_token_id": 998, "eos_token_id": 999}
    vision = both | {"image_size": 64, "patch_size": 16}
    return CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=32))


def whisper():
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    width = {"d_model": 64, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_source_positions": 50}
    heads = {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
    tokens = {"vocab_size": 1000, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    return WhisperForConditionalGeneration(WhisperConfig(**width, **heads, **tokens))


def mixtral():
    from transformers import MixtralConfig, MixtralForCausalLM

    small = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    return MixtralForCausalLM(MixtralConfig(vocab_size=1000, num_key_value_heads=2, num_local_experts=4, **small))


def mamba():
    from transformers import MambaConfig, MambaForCausalLM

    return MambaForCausalLM(MambaConfig(vocab_size=1000, hidden_size=64, num_hidden_layers=2))


def lora():
    from peft import LoraConfig, get_peft_model
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(num_hidden_layers=2, hidden_size=64, num_attention_heads=4, intermediate_size=128))
    return get_peft_model(model, LoraConfig(target_modules=["query", "value"], r=4))


BLOCKS = {"block_out_channels": (32, 64), "norm_num_groups": 8}


def diffusion_unet():
    from diffusers import UNet2DConditionModel

    down, up = ("CrossAttnDownBlock2D", "DownBlock2D"), ("UpBlock2D", "CrossAttnUpBlock2D")
    types = {"down_block_types": down, "up_block_types": up, "layers_per_block": 1}
    return UNet2DConditionModel(sample_size=16, cross_attention_dim=32, attention_head_dim=8, **types, **BLOCKS)


def autoencoder():
    from diffusers import AutoencoderKL

    types = {"down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2}
    return AutoencoderKL(**types, **BLOCKS)


def segmentation_unet():
    from segmentation_models_pytorch import Unet

    return Unet("resnet18", encoder_weights=None, classes=3)


def graph_attention():
    from torch_geometric.nn.models import GAT

    return GAT(in_channels=8, hidden_channels=16, num_layers=2, out_channels=3, heads=4, v2=True)


def graph():
    return {"args": (torch.rand(6, 8), torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 5]])), "kwargs": {}}


SMALL = {"dim": 64, "depth": 2, "heads": 4, "mlp_dim": 128}
IMAGE = {"image_size": 64, "patch_size": 16, "num_classes": 10}


def vit():
    from vit_pytorch import ViT

    return ViT(**IMAGE, **SMALL)


def simple_vit():
    from vit_pytorch import SimpleViT

    return SimpleViT(**IMAGE, **SMALL)


def cait():
    from vit_pytorch.cait import CaiT

    return CaiT(**IMAGE, **SMALL, cls_depth=1)


def t2t():
    from vit_pytorch.t2t import T2TViT

    return T2TViT(dim=64, image_size=64, depth=2, heads=4, mlp_dim=128, num_classes=10)


def max_vit():
    from vit_pytorch.max_vit import MaxViT

    return MaxViT(num_classes=10, dim=32, depth=(1, 1), dim_head=16, window_size=4)


def na_vit():
    from vit_pytorch.na_vit import NaViT

    return NaViT(**IMAGE, **SMALL)


def sizes():
    return {"args": ([[torch.rand(3, 64, 64), torch.rand(3, 32, 48)], [torch.rand(3, 48, 32)]],), "kwargs": {}}
