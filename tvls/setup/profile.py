"""A profile: everything that one trace is given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Literal, cast

import msgspec

from tvls.capture.encoding import canonical_json, digest
from tvls.setup.findings import Finding, describe, did_you_mean, is_error, unknown_keys
from tvls.setup.inside import walk
from tvls.setup.keys import Key, show_key
from tvls.setup.names import is_dotted, name_hint, split_name
from tvls.setup.placeholders import is_ask, is_open, is_open_shape
from tvls.setup.schema import CALL, FACTORY, PROFILE, choices
from tvls.setup.values import check_value, check_values

Framework = Literal["jax", "torch"]

_DEVICE: Final = re.compile(r"cpu|cuda:(0|[1-9][0-9]{0,3})")


class Factory(msgspec.Struct, frozen=True):
    """A function of the workspace that makes the model or its inputs. Runs in the worker only."""

    file: str
    """Relative to the workspace folder, with forward slashes."""
    callable: str
    kwargs: dict[str, Any] = {}


class Call(msgspec.Struct, frozen=True):
    """Arguments in canonical form (see `check_value`), or the factory that makes them."""

    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    factory: Factory | None = None

    def to_worker(self) -> dict[str, Any]:
        if self.factory is not None:
            return {"factory": msgspec.to_builtins(self.factory)}
        return {"args": self.args, "kwargs": self.kwargs}


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """A valid profile. Tensors may still lack a shape or dtype: `missing` lists what has to be asked."""

    name: str | None = None
    """None for a setup that came with a request."""
    framework: Framework = "torch"
    module: str
    qualname: str
    mode: Literal["eval"] = "eval"
    device: str = "cpu"
    seed: int = 0
    init: Call = Call()
    inputs: Call = Call()

    @property
    def model(self) -> str:
        return f"{self.module}:{self.qualname}"

    @property
    def digest(self) -> str:
        """Content identity of what the trace depends on: not of the name, the layout or the order of keys."""
        return digest(canonical_json(self._content() | {"model": self.model}))

    @property
    def key(self) -> Key:
        """Where the profile stands in `tensorviz.toml`; empty for a setup that came with a request."""
        return () if self.name is None else ("profiles", self.name)

    def to_worker(self) -> dict[str, Any]:
        """The `setup` object of a trace request."""
        named = {} if self.name is None else {"profile": self.name}
        return named | {"digest": self.digest} | self._content()

    def _content(self) -> dict[str, Any]:
        return {
            "framework": self.framework,
            "mode": self.mode,
            "device": self.device,
            "seed": self.seed,
            "init": self.init.to_worker(),
            "inputs": self.inputs.to_worker(),
        }


def check_profile(table: dict[str, Any], name: str, found: list[Finding]) -> Profile | None:
    """The profile that `[profiles.NAME]` describes. Faults are added to `found`; None where one of them is an error."""
    at: Key = ("profiles", name)
    mine: list[Finding] = unknown_keys(table, PROFILE.keys, at, PROFILE.what)
    _check_choice(table, "kind", at, mine)
    _check_choice(table, "mode", at, mine)
    grad = table.get("grad_enabled", False)
    if not isinstance(grad, bool):
        mine.append(Finding((*at, "grad_enabled"), f"grad_enabled is false, not {describe(grad)}"))
    elif grad:
        mine.append(
            Finding((*at, "grad_enabled"), "gradients are not traced here; express 'grad' in the selected callable")
        )
    framework = check_framework(table.get("framework", "torch"), (*at, "framework"), mine)
    model = _check_model(table.get("model"), at, mine)
    profile = check_parts(
        name=name,
        framework=framework,
        model=model,
        device=table.get("device", "cpu"),
        seed=table.get("seed", 0),
        init=check_call(table.get("init", {}), (*at, "init"), mine),
        inputs=check_call(table.get("inputs", {}), (*at, "inputs"), mine),
        at=at,
        found=mine,
    )
    found += mine
    return profile


def check_parts(
    *,
    name: str | None,
    framework: Framework | None,
    model: tuple[str, str] | None,
    device: Any,
    seed: Any,
    init: Call | None,
    inputs: Call | None,
    at: Key,
    found: list[Finding],
) -> Profile | None:
    """A profile from its parts, with the checks that saved and inline setups share. None where anything is wrong."""
    if not isinstance(device, str) or not _DEVICE.fullmatch(device):
        hint = "; did you mean 'cuda:0'?" if isinstance(device, str) and device.lower() in {"cuda", "gpu"} else ""
        found.append(Finding((*at, "device"), f"a device is 'cpu' or 'cuda:N', not {describe(device)}{hint}"))
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        found.append(Finding((*at, "seed"), f"a seed is a whole number of 0 or more, not {describe(seed)}"))
    if framework == "jax":
        for part, call in (("init", init), ("inputs", inputs)):
            if call is not None:
                found += _no_grad_arrays(call, (*at, part))
    if is_error(found) or framework is None or model is None or init is None or inputs is None:
        return None
    module, qualname = model
    return Profile(
        name=name,
        framework=framework,
        module=module,
        qualname=qualname,
        device=device,
        seed=seed,
        init=init,
        inputs=inputs,
    )


def check_framework(value: Any, at: Key, found: list[Finding]) -> Framework | None:
    if value in ("jax", "torch"):
        return value
    hint = ""
    if isinstance(value, str):
        word = value.lower()
        if word.startswith(("flax", "linen", "nnx")):
            hint = "; Flax modules are traced by 'jax'"
        elif word == "pytorch":
            hint = "; did you mean 'torch'?"
        else:
            hint = did_you_mean(word, ("jax", "torch"))
    found.append(Finding(at, f"framework is 'jax' or 'torch', not {describe(value)}{hint}"))
    return None


def check_call(value: Any, at: Key, found: list[Finding]) -> Call | None:
    """`{ args = […], kwargs = {…} }` or `{ factory = {…} }`; None where it is neither."""
    if not isinstance(value, dict):
        found.append(Finding(at, f"{at[-1]} is a table with args and kwargs, or a factory, not {describe(value)}"))
        return None
    table = cast("dict[str, Any]", value)
    found += unknown_keys(table, CALL.keys, at, str(at[-1]))
    args, kwargs = table.get("args", []), table.get("kwargs", {})
    sound = True
    if not isinstance(args, list):
        found.append(Finding((*at, "args"), f"args is a list, not {describe(args)}"))
        sound = False
    if not isinstance(kwargs, dict):
        found.append(Finding((*at, "kwargs"), f"kwargs is a table, not {describe(kwargs)}"))
        sound = False
    if not sound:
        return None
    if table.get("factory") is not None:
        if args or kwargs:
            found.append(
                Finding((*at, "factory"), "a factory makes every argument; leave args and kwargs out", on="key")
            )
        factory = _check_factory(table["factory"], (*at, "factory"), found)
        return None if factory is None else Call(factory=factory)
    return Call(
        args=[check_value(item, (*at, "args", index), found) for index, item in enumerate(cast("list[Any]", args))],
        kwargs=check_values(cast("dict[str, Any]", kwargs), (*at, "kwargs"), found),
    )


def incomplete_values(profile: Profile) -> list[Key]:
    """Places, relative to the profile, of what is not stated: shapes and dtypes of tensors, and placeholders."""
    found: list[Key] = []
    for part, call in (("init", profile.init), ("inputs", profile.inputs)):
        found += [key for key, value in _walk(call, (part,)) if is_ask(value)]
        for place, tensor in walk_call(call, (part,)):
            if "shape" not in tensor or is_open_shape(tensor["shape"]):
                found.append((*place, "shape"))
            if "dtype" not in tensor or is_open(tensor["dtype"]):
                found.append((*place, "dtype"))
    return found


def _walk(call: Call, at: Key) -> Iterator[tuple[Key, Any]]:
    """All values of a call, a factory's included, each with its place."""
    if call.factory is not None:
        pairs = [((*at, "factory", "kwargs", name), value) for name, value in call.factory.kwargs.items()]
    else:
        pairs = [((*at, "args", index), value) for index, value in enumerate(call.args)]
        pairs += [((*at, "kwargs", name), value) for name, value in call.kwargs.items()]
    for key, value in pairs:
        yield from walk(value, key)


def walk_call(call: Call, at: Key) -> list[tuple[Key, dict[str, Any]]]:
    """Every tensor among the arguments of `call`, a factory's included, with its place."""
    tables = [(key, cast("dict[str, Any]", value)) for key, value in _walk(call, at) if isinstance(value, dict)]
    return [(key, table) for key, table in tables if table.get("kind") == "tensor"]


def _no_grad_arrays(call: Call, at: Key) -> list[Finding]:
    return [
        Finding(
            (*place, "requires_grad"),
            "a JAX array has no requires_grad; express 'grad' in the selected callable",
        )
        for place, tensor in walk_call(call, at)
        if tensor.get("requires_grad") is True
    ]


def _check_choice(table: dict[str, Any], key: str, at: Key, found: list[Finding]) -> None:
    allowed = choices(PROFILE.keys[key])
    value = table.get(key, allowed[0])
    if value not in allowed:
        wanted = " or ".join(repr(choice) for choice in allowed)
        found.append(Finding((*at, key), f"{key} is {wanted}, not {describe(value)}"))


def _check_model(value: Any, at: Key, found: list[Finding]) -> tuple[str, str] | None:
    if value is None:
        found.append(Finding(at, f"{show_key(at)} needs model = 'module:name'", on="key"))
        return None
    name = split_name(value)
    if name is None:
        message = f"a model is 'module:name', not {describe(value)}{name_hint(value)}"
        found.append(Finding((*at, "model"), message))
    return name


def _check_factory(value: Any, at: Key, found: list[Finding]) -> Factory | None:
    if not isinstance(value, dict):
        found.append(Finding(at, f"a factory is a table with file and callable, not {describe(value)}"))
        return None
    table = cast("dict[str, Any]", value)
    found += unknown_keys(table, FACTORY.keys, at, FACTORY.what)
    file, function, kwargs = table.get("file"), table.get("callable"), table.get("kwargs", {})
    sound = True
    for key, part in (("file", file), ("callable", function)):
        if part is None:
            found.append(Finding(at, f"a factory needs {key!r}", on="key"))
            sound = False
    if file is not None and (fault := _file_fault(file)) is not None:
        found.append(Finding((*at, "file"), fault))
        sound = False
    if function is not None and not (isinstance(function, str) and is_dotted(function)):
        found.append(
            Finding((*at, "callable"), f"callable is the name of a function in the file, not {describe(function)}")
        )
        sound = False
    if not isinstance(kwargs, dict):
        found.append(Finding((*at, "kwargs"), f"kwargs is a table, not {describe(kwargs)}"))
        sound = False
    if not sound:
        return None
    values = check_values(cast("dict[str, Any]", kwargs), (*at, "kwargs"), found)
    parts = [part for part in str(file).split("/") if part not in {"", "."}]
    return Factory(file="/".join(parts), callable=str(function), kwargs=values)


def _file_fault(file: Any) -> str | None:
    if not isinstance(file, str):
        return f"file is a path in the workspace folder, not {describe(file)}"
    if "\\" in file:
        return "file is written with forward slashes"
    if "\0" in file:
        return "file has a NUL character in it"
    if file.startswith(("/", "~")) or re.match(r"[A-Za-z]:", file) or ".." in file.split("/"):
        return f"file is a path inside the workspace folder, relative to it, not {describe(file)}"
    return None if file.endswith(".py") else f"file is a Python file ('….py'), not {describe(file)}"
