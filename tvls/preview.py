"""The source-only preview: what a target declares, before anything of its workspace may run."""

from __future__ import annotations

from pathlib import Path

from tvls.analysis import types as a
from tvls.host import Host
from tvls.protocol import types as t
from tvls.protocol import types_canvas as canvas


def preview_result(host: Host, path: Path, target: t.TargetInfo, found: a.Declared) -> canvas.PreviewResult:
    """`found` is what the analysis read of `target` in `path`."""

    def place(span: a.Span) -> t.Range:
        return host.location(path, span.line, span.column, span.end_line, span.end_column).range

    return canvas.PreviewResult(
        evidence="source",
        name=target.name,
        kind=target.kind,
        range=target.range,
        fields=[
            canvas.DeclaredField(
                name=field.name, annotation=field.annotation, default=field.default, range=place(field.span)
            )
            for field in found.fields
        ],
        submodules=[
            canvas.DeclaredSubmodule(
                name=module.name, constructor=module.constructor, text=module.text, range=place(module.span)
            )
            for module in found.submodules
        ],
        methods=[
            canvas.DeclaredMethod(
                name=method.name,
                signature=method.signature,
                calls=[_call(call, place(call.span)) for call in method.calls],
                range=place(method.span),
            )
            for method in found.methods
        ],
        total_calls=found.total_calls,
        approximate=not found.parsed,
    )


def _call(call: a.Call, range: t.Range) -> canvas.DeclaredCall:
    return canvas.DeclaredCall(
        callee=call.callee, text=call.text, within=call.within, submodule=call.submodule, range=range
    )
