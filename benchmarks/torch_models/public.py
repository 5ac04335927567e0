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
