"""`module:qualname`, the name of something in a module."""

from __future__ import annotations

import re


def split_name(text: object) -> tuple[str, str] | None:
    """Module and qualified name; None for what is no such name."""
    module, colon, qualname = text.partition(":") if isinstance(text, str) else ("", "", "")
    return (module, qualname) if colon and is_module(module) and is_dotted(qualname) else None


def name_hint(value: object) -> str:
    """`; did you mean 'module:name'?` for what looks like a path or a dotted name, or nothing."""
    if not isinstance(value, str):
        return ""
    module, colon, qualname = value.strip().partition(":")
    if not colon:
        module, _, qualname = module.rpartition(".")
    if module.endswith(".py"):
        module = module.removesuffix(".py")
    module = module.removeprefix("./").replace("/", ".").strip()
    suggestion = f"{module}:{qualname.strip()}"
    return f"; did you mean {suggestion!r}?" if is_dotted(module) and is_dotted(qualname.strip()) else ""


def is_module(text: str) -> bool:
    """What can be imported by name, which is more than `import` statements can say: `06_net`, `my-repo.model`."""
    return bool(re.fullmatch(r"[\w-]+(\.[\w-]+)*", text)) and not text.endswith(".py")


def is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))
