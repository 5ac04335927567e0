"""Unusual but valid modules, opened by the tests beside this file."""

from __future__ import annotations

import copy
import dataclasses
import threading

import torch
from torch import nn
from torch._higher_order_ops.map import map as higher_order_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.nn.attention.flex_attention import flex_attention
from torch.nn.utils import parametrizations, parametrize
from torch.utils.checkpoint import checkpoint


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        nested = torch.nested.nested_tensor([x[:1], x])
        return torch.nested.to_padded_tensor(self.linear(nested), 0.0)


class Sparse(nn.Module):
    def forward(self, x):
        sparse = x.to_sparse()
        return torch.sparse.mm(sparse, x.t()), sparse


class Complex(nn.Module):
    def forward(self, x):
        spectrum = torch.fft.rfft(x)
        return torch.view_as_real(spectrum), spectrum.abs(), spectrum.real


class CastingNorm(nn.Module):
    def forward(self, x):
        x = x.to(torch.float32)
        return x * torch.rsqrt(x.square())


class Unchanged(nn.Module):
    """Functions that return the very tensor that they got: the residual passes by the norm, and not by the dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.drop, self.norm = nn.Dropout(0.1), CastingNorm()

    def forward(self, x):
        x = self.drop(x)
        return x + self.norm(x)


def _double_output(module, args, output):
    return output * 2


def _shift_input(module, args):
    return (args[0] + 1,)


class Hooked(nn.Module):
    """Hooks of the program are part of it: what they compute reaches the result."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.linear.register_forward_pre_hook(_shift_input)
        self.linear.register_forward_hook(_double_output)

    def forward(self, x):
        return self.linear(x)


class GlobalHook(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        handle = nn.modules.module.register_module_forward_hook(_double_output)
        try:
            return self.linear(x)
        finally:
            handle.remove()


class KeywordHook(nn.Module):
    """A hook that asks for keyword arguments, on a module that is given nothing else (pytorch#156695)."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.linear.register_forward_pre_hook(self._seen, with_kwargs=True)

    def _seen(self, module, args, kwargs):
        return args, {"input": kwargs["input"] * 2}

    def forward(self, x):
        return self.linear(input=x)


class _Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


class OwnFunction(nn.Module):
    def forward(self, x):
        return _Straight.apply(x * 2) + 1


class Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=False)


class Functional(nn.Module):
    """A module called with other parameters than its own."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4, bias=False)

    def forward(self, x):
        return torch.func.functional_call(self.linear, {"weight": self.linear.weight * 2}, (x,))


class Gradient(nn.Module):
    """A gradient in the forward, by `torch.func` and by autograd."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 1)

    def forward(self, x):
        force = torch.func.grad(lambda at: self.linear(at).sum())(x)
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            (other,) = torch.autograd.grad((leaf**3).sum(), leaf)
        return force, other


class Batched(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return torch.vmap(self.linear)(x)


def rewritten():
    return torch.fx.symbolic_trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))


class Held(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.list = nn.ParameterList([nn.Parameter(torch.ones(4)) for _ in range(2)])
        self.dict = nn.ParameterDict({"scale": nn.Parameter(torch.ones(4))})
        self.plain = torch.ones(4)
        self.table = {"shift": [torch.zeros(4)]}

    def forward(self, x):
        return (x * self.list[0] + self.list[1]) * self.dict["scale"] * self.plain + self.table["shift"][0]


class _Symmetric(nn.Module):
    def forward(self, weight):
        return weight.triu() + weight.triu(1).transpose(-1, -2)


class Parametrized(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.normed = parametrizations.weight_norm(nn.Linear(4, 4))
        self.spectral = parametrizations.spectral_norm(nn.Linear(4, 4))
        self.symmetric = nn.Linear(4, 4)
        parametrize.register_parametrization(self.symmetric, "weight", _Symmetric())

    def forward(self, x):
        return self.symmetric(self.spectral(self.normed(x)))


class Attempts(nn.Module):
    """An exception that the program expects."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Linear(8, 4)
        self.narrow = nn.Linear(4, 4)

    def forward(self, x):
        try:
            return self.wide(x)
        except RuntimeError:
            return self.narrow(x)


class Threaded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        made = []
        thread = threading.Thread(target=lambda: made.append(self.linear(x * 2)))
        thread.start()
        thread.join()
        return made[0] + 1


class Inference(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        with torch.inference_mode():
            return self.linear(x) + 1


class Mixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.linear(x)


class Copied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        kept = copy.deepcopy(x)
        return copy.deepcopy(self.linear)(x) + kept


class Direct(nn.Module):
    """A module whose `forward` is called, and not the module."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear.forward(x)


class ReturnsItself(nn.Module):
    def forward(self, x):
        self.seen = x + 1
        return self


class Generator(nn.Module):
    def forward(self, x):
        return (row * 2 for row in x)


class Passes(nn.Module):
    """Results that are what was given, and a view of it."""

    def forward(self, x, y):
        return x, y, x[0], (x, x)


class Storage(nn.Module):
    def forward(self, x):
        buffer = torch.empty(0)
        buffer.resize_(2, 4)
        buffer.copy_(x)
        other = torch.empty(0)
        other.set_(buffer)
        other.add_(1)
        total = torch.empty(())
        torch.sum(buffer, (0, 1), out=total)
        return buffer * 1, total


class Tagged(torch.Tensor):
    """A subclass with functions of its own."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


class Subclassed(nn.Module):
    def forward(self, x):
        tagged = x.as_subclass(Tagged)
        return (tagged * 2 + 1).as_subclass(torch.Tensor)


@torch.library.custom_op("tvls_test::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@torch.library.custom_op("tvls_test::fill", mutates_args=("x",))
def fill(x: torch.Tensor) -> None:
    x.fill_(3)


class Custom(nn.Module):
    def forward(self, x):
        doubled = twice(x)
        fill(doubled)
        return doubled + 1


class Static(nn.Module):
    """Statically quantised: packed weights, observers gone."""

    def __init__(self) -> None:
        super().__init__()
        self.quant = torch.ao.quantization.QuantStub()
        self.linear = nn.Linear(4, 4)
        self.dequant = torch.ao.quantization.DeQuantStub()

    def forward(self, x):
        return self.dequant(self.linear(self.quant(x)))


def static_quantised():
    model = Static().eval()
    model.qconfig = torch.ao.quantization.default_qconfig
    prepared = torch.ao.quantization.prepare(model)
    prepared(torch.ones(2, 4))
    return torch.ao.quantization.convert(prepared)


class Restores(nn.Module):
    """Changes what a program shares with others, and fails."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout()

    def forward(self, x, fail):
        self.train()
        self.drop.register_forward_hook(lambda *_: None)
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(True)
        torch.manual_seed(99)
        torch.rand(3)
        if fail:
            raise RuntimeError("on purpose")
        return x


kept = Restores()


class Data(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        self.linear.weight.data = self.linear.weight.data * 2
        first = self.linear(x)
        x.data.zero_()
        return first + x


class Indexed(nn.Module):
    """Writing through indices, and what reads views of it."""

    def forward(self, x):
        first, _ = x.unbind(0)
        x[0, 1:3] = first[1:3] * 2
        x[x > 0] = 0
        return first + 1, x.view(2, 2, 2)


class Made(nn.Module):
    """Modules that are made in the forward: their parameters are made there, too."""

    def forward(self, x):
        return nn.Linear(4, 1, bias=False)(x)


class Told(nn.Module):
    def forward(self, x):
        return x.tolist()


class Numpy(nn.Module):
    def forward(self, x):
        array = x.numpy()
        array += 1
        return torch.from_numpy(array * 2) + x


class Kept(nn.Module):
    """State that a forward replaces: a cache, as streaming models have it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(2, 4))

    def forward(self, x):
        self.cache = self.cache + x
        self.cache += 1
        return self.cache * 2


class Foreach(nn.Module):
    def forward(self, x):
        parts = [x + 1, x + 2]
        torch._foreach_add_(parts, 1.0)
        return parts[0] + parts[1]


class Iterated(nn.Module):
    def forward(self, x):
        return [row + 1 for row in x], len(x), x.shape[0] * 2, torch.Size(x.shape)


class Attributes(nn.Module):
    def forward(self, x):
        y = x.T
        y.mul_(2)
        return y.mT + 1, x.H, x.shape, x.dtype == torch.float32


class Chosen(nn.Module):
    """Control flow by operators: the branch that is taken calls a module."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Linear(4, 4)
        self.plain = nn.Identity()

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.wide, self.plain, (x,)) + 1


class Looped(nn.Module):
    def forward(self, x):
        _, doubled = while_loop(lambda i, at: i < 2, lambda i, at: (i + 1, at * 2), (torch.tensor(0), x))
        return doubled


class Scanned(nn.Module):
    def forward(self, x):
        return scan(lambda carry, row: (carry + row, carry * row), torch.zeros(4), x)


class Each(nn.Module):
    def forward(self, x):
        return higher_order_map(lambda row: row.sin() * 2, x)


class Flexible(nn.Module):
    """Attention that takes a function."""

    def forward(self, q):
        return flex_attention(q, q, q, score_mod=lambda score, batch, head, i, j: score + (i - j), block_mask=None)


class Holder:
    """No tensor, and a tensor's functions know it."""

    def __init__(self, tensor) -> None:
        self.tensor = tensor

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return cls(func(*(arg.tensor if isinstance(arg, cls) else arg for arg in args), **(kwargs or {})))


class OfHolders(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return torch.add(torch.mul(Holder(x + 1), self.scale), 1).tensor


class Two(torch.Tensor):
    """Two tensors that look like one."""

    @staticmethod
    def __new__(cls, first, second):
        return torch.Tensor._make_wrapper_subclass(cls, first.shape, dtype=first.dtype, device=first.device)

    def __init__(self, first, second) -> None:
        self.first, self.second = first, second

    def __tensor_flatten__(self):
        return ["first", "second"], None

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def of(name):
            return func(*(getattr(arg, name) if isinstance(arg, cls) else arg for arg in args), **(kwargs or {}))

        return cls(of("first"), of("second"))


class Wrapped(nn.Module):
    def forward(self, x):
        both = Two(x * 2, x + 1) * 3
        return both.first + both.second


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    logits: torch.Tensor
    loss: object = None


class InSlots(nn.Module):
    def forward(self, x):
        return Slotted(x + 1)


class Addresses(nn.Module):
    """Memory that is written, freed, and had again by tensors that no function of PyTorch made."""

    def forward(self, x):
        for _ in range(30):
            written = torch.empty(2, 4)
            written.zero_()
            del written
            x = x + torch.frombuffer(bytearray(32), dtype=torch.float32).view(2, 4)
        return x


class Deep(nn.Module):
    """As deep as Python lets it be."""

    def __init__(self, depth: int = 236) -> None:
        super().__init__()
        self.inner = Deep(depth - 1) if depth else nn.ReLU()

    def forward(self, x):
        return self.inner(x)


class BatchedWrites(nn.Module):
    """What is written in place where a transform has wrapped it."""

    def forward(self, x):
        def each(row):
            made = row * 2
            made[:1].zero_()
            return made.view(2, 2)

        return torch.vmap(each)(x)


class Learns(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 1, bias=False)

    def forward(self, x):
        with torch.enable_grad():
            self.linear(x).sum().backward()
        return self.linear.weight.grad * 2


class Jagged(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        return self.linear(torch.nested.nested_tensor([x[:1], x], layout=torch.jagged)).values()
