"""Every `tvls/*` method, once. Schema, client types and the tables of SPEC.md are generated from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tvls.protocol import types as t
from tvls.protocol import types_canvas as canvas
from tvls.protocol import types_environment as te
from tvls.protocol import types_page as page
from tvls.protocol import types_setup


@dataclass(frozen=True)
class Method:
    name: str
    params: type[t.Wire]
    result: type[t.Wire]
    summary: str
    errors: tuple[str, ...] = ()
    since: str = "0.1"


@dataclass(frozen=True)
class Notification:
    """From the server to clients that announced `capability` under `capabilities.experimental`; None: to pages."""

    name: str
    params: type[t.Wire]
    capability: str | None
    summary: str
    since: str = "0.1"


OPEN_ERRORS = (
    "noWorkspace",
    "targetNotFound",
    "notTrusted",
    "unsavedSource",
    "setupRequired",
    "setupInvalid",
    "environmentInvalid",
    "deviceUnavailable",
    "traceFailed",
    "traceTimeout",
    "workerCrashed",
    "limitExceeded",
)

FORM_ERRORS = ("noWorkspace", "targetNotFound", "unsavedSource", "setupRequired", "setupInvalid", "workerCrashed")

METHODS: Final[tuple[Method, ...]] = (
    Method(
        "tvls/targets/list",
        t.TargetsListParams,
        t.TargetsListResult,
        "Models of one document or of the workspace.",
        ("workerCrashed",),
    ),
    # --- graph ---
    Method("tvls/graph/open", t.OpenParams, t.OpenResult, "Trace a target, or answer what is missing.", OPEN_ERRORS),
    Method("tvls/graph/close", t.CaptureParams, t.CloseResult, "Let go of a capture."),
    Method(
        "tvls/graph/info",
        t.CaptureParams,
        t.CaptureInfo,
        "What a capture is and whether it is fresh.",
        ("captureGone",),
    ),
    Method(
        "tvls/graph/view",
        t.GraphViewParams,
        t.GraphViewResult,
        "Visible nodes and edges, in pages.",
        ("captureGone", "nodeNotFound", "cursorInvalid"),
    ),
    Method(
        "tvls/graph/node", t.NodeParams, t.NodeDetails, "Everything known of one node.", ("captureGone", "nodeNotFound")
    ),
    Method(
        "tvls/graph/sources",
        t.NodeParams,
        t.SourcesResult,
        "Source frames of one node.",
        ("captureGone", "nodeNotFound"),
    ),
    Method(
        "tvls/graph/nodesAt",
        t.NodesAtParams,
        t.NodesAtResult,
        "Nodes that come from a source position.",
        ("captureGone",),
    ),
    Method("tvls/graph/search", t.SearchParams, t.SearchResult, "Find nodes.", ("captureGone", "cursorInvalid")),
    Method(
        "tvls/graph/export",
        t.ExportParams,
        t.ExportResult,
        "The portable graph file, a page that opens anywhere, or a readable outline.",
        ("captureGone", "limitExceeded", "environmentInvalid"),
    ),
    # --- trust ---
    Method("tvls/trust/get", t.TrustParams, t.TrustResult, "Whether a folder is trusted.", ("noWorkspace",)),
    Method(
        "tvls/trust/grant",
        t.TrustParams,
        t.TrustResult,
        "Trust a folder; for clients with a trust decision of their own.",
        ("noWorkspace", "notTrusted"),
    ),
    Method(
        "tvls/trust/revoke",
        t.TrustParams,
        t.TrustResult,
        "Withdraw trust and end the folder's workers.",
        ("noWorkspace",),
    ),
    # --- setup ---
    Method(
        "tvls/setup/draft",
        types_setup.SetupDraftParams,
        types_setup.SetupForm,
        "A profile of a target as a form: a saved one, or a new one with all that the source states.",
        FORM_ERRORS,
    ),
    Method(
        "tvls/setup/validate",
        types_setup.SetupFormParams,
        types_setup.SetupForm,
        "The form with what was changed, and what is wrong with it.",
        FORM_ERRORS,
    ),
    Method(
        "tvls/setup/save",
        types_setup.SetupSaveParams,
        types_setup.SetupSaved,
        "Write a profile into tensorviz.toml, in place.",
        (*FORM_ERRORS, "setupChanged"),
    ),
    # --- environments ---
    Method(
        "tvls/environment/list",
        te.EnvironmentListParams,
        te.EnvironmentListResult,
        "Pythons that a folder can be captured with; runs none.",
        ("noWorkspace",),
    ),
    Method(
        "tvls/environment/select",
        te.EnvironmentSelectParams,
        te.EnvironmentListResult,
        "Choose one of them, or another.",
        ("noWorkspace", "environmentInvalid"),
    ),
    Method(
        "tvls/environment/probe",
        te.EnvironmentProbeParams,
        te.EnvironmentInfo,
        "What a Python has: libraries with a verdict, devices and dtypes.",
        ("noWorkspace", "notTrusted", "environmentInvalid"),
    ),
    Method(
        "tvls/environment/plan",
        te.EnvironmentPlanParams,
        te.EnvironmentPlan,
        "What an installation would change, by the installer's own word.",
        ("noWorkspace", "notTrusted", "environmentInvalid", "planRefused", "workerCrashed"),
    ),
    Method(
        "tvls/environment/install",
        te.EnvironmentInstallParams,
        te.EnvironmentInstallResult,
        "Carry out a plan that a person has approved.",
        ("notTrusted", "planGone", "planRefused", "installFailed"),
    ),
    # --- canvas ---
    Method(
        "tvls/target/preview",
        canvas.PreviewParams,
        canvas.PreviewResult,
        "What the source of a target declares, before anything runs.",
        ("noWorkspace", "targetNotFound", "workerCrashed"),
    ),
    Method(
        "tvls/graph/compare",
        canvas.CompareParams,
        canvas.CompareResult,
        "What is different between two captures.",
        ("captureGone",),
    ),
    Method(
        "tvls/graph/fold",
        canvas.FoldParams,
        canvas.FoldResult,
        "The neighbours that one node stands for, and in what they differ.",
        ("captureGone", "nodeNotFound"),
    ),
    Method(
        "tvls/canvas/attach", page.AttachParams, page.CanvasState, "What this canvas is there to show.", ("pageGone",)
    ),
    Method("tvls/canvas/showSource", page.ShowSourceParams, page.ShowSourceResult, "Go to a place in the editor."),
    Method("tvls/canvas/mark", page.MarkParams, page.MarkResult, "Mark the nodes of the cursor in the open pages."),
    # --- server ---
    Method("tvls/server/status", t.StatusParams, t.StatusResult, "Health, workers and running traces."),
    Method("tvls/server/debugInfo", t.StatusParams, t.DebugInfoResult, "A report to paste into an issue."),
)

NOTIFICATIONS: Final[tuple[Notification, ...]] = (
    Notification(
        "$/tvls/captureState",
        t.CaptureInfo,
        "tvls.captureState",
        "An open capture became stale, or fresh again.",
    ),
    Notification("$/tvls/canvas/show", page.CanvasState, None, "Show this instead: it was opened again."),
    Notification("$/tvls/canvas/mark", page.MarkedNodes, None, "Mark the nodes of the editor's cursor."),
)

ANSWERED_BY_THE_CANVAS_HOST: Final = frozenset({"tvls/canvas/attach", "tvls/canvas/showSource"})
"""By the daemon for a page in a browser, by the editor's extension for a panel; never over LSP."""

ALLOWED_IN_A_BROWSER: Final = ANSWERED_BY_THE_CANVAS_HOST | {
    "tvls/graph/open",
    "tvls/graph/info",
    "tvls/graph/view",
    "tvls/graph/node",
    "tvls/graph/sources",
    "tvls/graph/nodesAt",
    "tvls/graph/search",
    "tvls/graph/compare",
    "tvls/graph/fold",
    "tvls/target/preview",
    "tvls/graph/export",
    "tvls/setup/draft",
    "tvls/setup/validate",
    "tvls/setup/save",
    "tvls/trust/get",
    "tvls/server/status",
}
"""What a page may ask; everything else is refused. Nothing here gives trust, ends work of others or installs."""
