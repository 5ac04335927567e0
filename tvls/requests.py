"""The `tvls/*` requests that are one method of the application, by name. Opening, which reports, and what belongs to a
surface (the editor, the page in a browser) are with the surfaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tvls.session import Session

REQUESTS: Final[dict[str, Callable[[Session, Any], Any]]] = {
    "tvls/targets/list": lambda session, params: session.list_targets(params),
    # --- graph ---
    "tvls/graph/close": lambda session, params: session.close(params),
    "tvls/graph/info": lambda session, params: session.info(params),
    "tvls/graph/view": lambda session, params: session.view(params),
    "tvls/graph/node": lambda session, params: session.node(params),
    "tvls/graph/sources": lambda session, params: session.sources(params),
    "tvls/graph/nodesAt": lambda session, params: session.nodes_at(params),
    "tvls/graph/search": lambda session, params: session.search(params),
    "tvls/graph/compare": lambda session, params: session.compare(params),
    "tvls/graph/fold": lambda session, params: session.fold(params),
    "tvls/target/preview": lambda session, params: session.preview(params),
    "tvls/graph/export": lambda session, params: session.export(params),
    # --- trust ---
    "tvls/trust/get": lambda session, params: session.trust_get(params),
    "tvls/trust/grant": lambda session, params: session.trust_grant(params),
    "tvls/trust/revoke": lambda session, params: session.trust_revoke(params),
    # --- setup ---
    "tvls/setup/draft": lambda session, params: session.setup_draft(params),
    "tvls/setup/validate": lambda session, params: session.setup_form(params),
    "tvls/setup/save": lambda session, params: session.setup_save(params),
    # --- environments ---
    "tvls/environment/list": lambda session, params: session.environment_list(params),
    "tvls/environment/select": lambda session, params: session.environment_select(params),
    # --- server ---
    "tvls/server/status": lambda session, params: session.status(params),
    "tvls/server/debugInfo": lambda session, params: session.debug_info(params),
}
