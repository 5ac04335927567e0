"""`tvls/environment/*` with progress, and the same for editors that have nothing but commands and questions."""

from __future__ import annotations

from lsprotocol import types as lsp

from tvls.protocol import types_environment as te
from tvls.server.progress import progress
from tvls.server.state import Server


async def probe(server: Server, params: te.EnvironmentProbeParams) -> te.EnvironmentInfo:
    with progress(server, "Look at the environment", params.work_done_token) as shown:
        return await server.session.environment_probe(params, shown.report)


async def plan(server: Server, params: te.EnvironmentPlanParams) -> te.EnvironmentPlan:
    with progress(server, "Plan an installation", params.work_done_token) as shown:
        return await server.session.environment_plan(params, shown.report)


async def install(server: Server, params: te.EnvironmentInstallParams) -> te.EnvironmentInstallResult:
    with progress(server, "Install", params.work_done_token) as shown:
        return await server.session.environment_install(
            params, shown.report, lambda message: server.show(lsp.MessageType.Warning, message)
        )
