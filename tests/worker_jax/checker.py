"""An independent reading of jaxprs, and of capture documents, as comparable programs.

A program is `{"ops", "outs"}`; an operation `{"primitive", "inputs", "outputs", "bodies"}`. Operands are
`["in", position]`, `["const", shape, dtype]`, `["lit", text, dtype]`, `["op", number, output]`.
"""

from __future__ import annotations

from typing import Any

CALLS = {"jit", "pjit", "remat2", "checkpoint", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"}
CALLS |= {"closed_call", "core_call", "eval_jaxpr"}


# --- from a jaxpr, with JAX at hand ----------------------------------------------------------------------------------


def program_of_jaxpr(jaxpr: Any) -> dict[str, Any]:
    import jax.extend.core as core

    ops: list[Any] = []

    def token(env: dict[Any, Any], atom: Any) -> Any:
        if not isinstance(atom, core.Literal):
            return env[atom]
        if str(atom.aval.dtype).startswith("key<") or _size(atom.aval.shape) > 8 or "float0" in str(atom.aval.dtype):
            return ["const", list(atom.aval.shape), _dtype(atom.aval)]
        return ["lit", literal_text(atom.val, str(atom.aval.dtype)), str(atom.aval.dtype)]

    def inline(jaxpr: Any, args: list[Any]) -> list[Any]:
        env = {var: ["const", list(var.aval.shape), str(var.aval.dtype)] for var in jaxpr.constvars}
        env.update(zip(jaxpr.invars, args, strict=True))
        for eqn in jaxpr.eqns:
            operands = [token(env, atom) for atom in eqn.invars]
            if eqn.primitive.name in CALLS:
                inner = _subprograms(eqn.params, core)[0]
                results = inline(inner, operands)
            else:
                bodies = [program_of_jaxpr(inner) for inner in _subprograms(eqn.params, core)]
                outs = [describe_aval(var.aval) for var in eqn.outvars]
                ops.append({"primitive": eqn.primitive.name, "inputs": operands, "outputs": outs, "bodies": bodies})
                results = [["op", len(ops) - 1, at] for at in range(len(outs))]
            env.update(zip(eqn.outvars, results, strict=True))
        return [token(env, atom) for atom in jaxpr.outvars]

    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    outs = inline(jaxpr, [["in", at] for at in range(len(jaxpr.invars))])
    return {"ops": ops, "outs": outs}


def describe_aval(aval: Any) -> list[Any]:
    if not hasattr(aval, "shape"):
        return [[], "token", False]
    return [list(aval.shape), _dtype(aval), bool(getattr(aval, "weak_type", False))]


def _dtype(aval: Any) -> str:
    return "float0" if "float0" in str(aval.dtype) else str(aval.dtype)


def literal_text(value: Any, dtype: str) -> str:
    import numpy as np

    def convert(item: Any) -> Any:
        if isinstance(item, list):
            return [convert(part) for part in item]
        if isinstance(item, complex):
            return [convert(item.real), convert(item.imag)]
        if isinstance(item, bool):
            return item
        return int(item) if "int" in dtype else float(item)

    return normal(convert(np.asarray(value).tolist()))


def normal(item: Any) -> str:
    return "[" + ", ".join(normal(part) for part in item) + "]" if isinstance(item, list) else str(item)


def _subprograms(params: dict[str, Any], core: Any) -> list[Any]:
    def found(value: Any) -> list[Any]:
        if isinstance(value, core.ClosedJaxpr):
            return [value.jaxpr]
        if isinstance(value, core.Jaxpr):
            return [value]
        if hasattr(value, "pp_params"):  # a primitive that is an object
            return _subprograms(value.pp_params(), core)
        return [inner for item in value for inner in found(item)] if isinstance(value, (tuple, list)) else []

    return [inner for name in sorted(params) for inner in found(params[name])]


def _size(shape: Any) -> int:
    total = 1
    for dim in shape:
        total *= dim
    return total


# --- from a document -------------------------------------------------------------------------------------------------


def program_of_document(document: dict[str, Any], streams: list[str]) -> dict[str, Any]:
    """Inputs are numbered as the reference has them: state, then random streams, used or not, then inputs."""
    positions: dict[int, int] = {}
    states = [at for at, value in enumerate(document["values"]) if value["role"] == "state"]
    inputs = [at for at, value in enumerate(document["values"]) if value["role"] == "input"]
    for order, at in enumerate(states):
        positions[at] = order
    for name in streams:
        for at in inputs:
            if document["values"][at].get("name") == f"rngs/{name}":
                positions[at] = len(states) + streams.index(name)
    plain = [at for at in inputs if at not in positions]
    for order, at in enumerate(plain):
        positions[at] = len(states) + len(streams) + order
    return _program(document, positions, leaves(document["outputs"]))


def _program(graph: dict[str, Any], positions: dict[int, int], outputs: list[Any]) -> dict[str, Any]:
    tokens: dict[int, Any] = {at: ["in", position] for at, position in positions.items()}
    for at, value in enumerate(graph["values"]):
        if value["role"] == "constant":
            tokens[at] = ["const", value["shape"], value["dtype"]]

    def token(operand: dict[str, Any]) -> Any:
        if "value" in operand:
            return tokens[operand["value"]]  # a KeyError is an operand that no earlier operation made
        return ["lit", normal(operand["literal"]), operand["dtype"]]

    ops: list[Any] = []
    for operation in graph["operations"]:
        operands = [token(operand) for operand in operation["inputs"]]
        outs = [graph["values"][at] for at in operation["outputs"]]
        bodies = [graph["bodies"][body["body"]] for body in operation.get("bodies", [])]
        ops.append(
            {
                "primitive": operation["primitive"],
                "inputs": operands,
                "outputs": [[value["shape"], value["dtype"], value.get("weakType", False)] for value in outs],
                "bodies": [
                    _program(body, {at: k for k, at in enumerate(body["inputs"])}, body["outputs"]) for body in bodies
                ],
            }
        )
        for order, at in enumerate(operation["outputs"]):
            assert at not in tokens, f"value {at} is made twice"
            tokens[at] = ["op", len(ops) - 1, order]
    return {"ops": ops, "outs": [token(operand) for operand in outputs]}


def leaves(tree: dict[str, Any]) -> list[dict[str, Any]]:
    """Values and literals of a tree."""
    if "value" in tree or "literal" in tree:
        return [tree]
    nested = tree.get("list") or tree.get("tuple") or list(tree.get("dict", {}).values())
    return [leaf for item in nested for leaf in leaves(item)]


def assert_equal_programs(found: dict[str, Any], expected: dict[str, Any], outputs: str = "equal") -> None:
    """`outputs`: `equal`, up to order, or `more` where the document may have further ones (state that was written)."""
    for at, (ours, theirs) in enumerate(zip(found["ops"], expected["ops"], strict=False)):
        assert ours == theirs, f"operation {at}"
    assert len(found["ops"]) == len(expected["ops"])
    ours, theirs = sorted(map(str, found["outs"])), sorted(map(str, expected["outs"]))
    if outputs == "equal":
        assert ours == theirs
    else:
        missing = list(theirs)
        for out in ours:
            if out in missing:
                missing.remove(out)
        assert not missing


def assert_sound(document: dict[str, Any]) -> None:
    """The rules every graph keeps: unique ids, parents first, indices in range, one producer, no address in sight."""
    frames = len(document["frames"])

    def check(graph: dict[str, Any]) -> None:
        scopes, values = graph["scopes"], len(graph["values"])
        assert scopes[0] == {"id": "", "parent": None, "kind": "root"}
        for at, scope in enumerate(scopes[1:], 1):
            assert 0 <= scope["parent"] < at
            assert scope["kind"] in {"jit", "remat", "custom_jvp", "custom_vjp", "call", "module", "named"}
        ids = [scope["id"] for scope in scopes] + [operation["id"] for operation in graph["operations"]]
        assert len(ids) == len(set(ids))
        for operation in graph["operations"]:
            assert 0 <= operation["scope"] < len(scopes)
            assert all(0 <= at < values for at in operation["outputs"])
            assert all(0 <= at < frames for at in operation["frames"])
            if "bodies" in operation:
                assert operation["opaque"] == "opaque_kernel"
        for body in graph["bodies"]:
            check(body)

    check(document)
    opaque = sum("opaque" in operation for operation in document["operations"])
    coverage = document["coverage"]
    assert coverage.get("counts", {}).get("opaque_kernel", 0) == opaque
    assert ("opaque_kernel" in coverage["reasons"]) == (opaque > 0)
    assert coverage["status"] == ("partial" if coverage["reasons"] else "complete")
