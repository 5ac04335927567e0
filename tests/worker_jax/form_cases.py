"""Boundaries and PyTrees, by name. Read by the tests and by runner.py."""

from __future__ import annotations

from cases import Case, factory, tensor

_i32 = tensor(dtype="int32")
_x = tensor(3)
_BOUNDARIES = [
    Case("boundaries", "pallas_call", [tensor(4, 4)]),
    Case("boundaries", "shard_map", [tensor(2, 4), tensor(4, 2)]),
    Case("boundaries", "switch", [_i32, _x]),
    Case("boundaries", "loops", [_i32, _x]),
    Case("boundaries", "linear_solve", [tensor(3, 3), _x]),
    Case("boundaries", "root", [tensor()]),
    Case("boundaries", "reducers", [tensor(4, 3), tensor(2, dtype="int32")]),
    Case("boundaries", "composite", [_x]),
    Case("boundaries", "callbacks", [_x]),
    Case("boundaries", "effect_in_body", [_x]),
    Case("boundaries", "checked", [_x]),
    Case("boundaries", "deep", [_x]),
    Case("boundaries", "inside_jit", [_x]),
    Case("boundaries", "inside_call", [_x]),
    Case("boundaries", "expanded", [tensor(3, 3)]),
    Case("boundaries", "deep_scopes", [_x]),
    Case("boundaries", "deep_names", [_x]),
]
_TREES = [
    Case("trees", "everything", inputs=factory("trees", "make_everything")),
    Case("trees", "keys_that_are_no_strings", inputs=factory("trees", "make_keys")),
    Case("trees", "no_arrays", [_x]),
    Case("trees", "update", inputs=factory("trees", "make_optimiser_state")),
    Case("trees", "of_state", inputs=factory("trees", "make_state")),
    Case("trees", "gradient", [tensor()]),
    Case("trees", "jitted_gradient", [tensor()]),
    Case("trees", "mode_of", [_x], label=":default"),
    Case("trees", "mode_of", [_x], {"mode": "mul"}, label=":named"),
    Case("trees", "use_meter", inputs=factory("trees", "make_meter")),
    Case("trees", "closes_over", [_x]),
    Case("failing", "leaks_and_succeeds", [tensor()]),
]
FORMS = {f"{case.module}.{case.name}": case for case in _BOUNDARIES + _TREES}
