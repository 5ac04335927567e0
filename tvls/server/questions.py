"""Questions to the person, by `window/showMessageRequest`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from tvls.server.state import Server

logger = logging.getLogger(__name__)

NOT_NOW: Final = "Not now"
UNSURE_SECONDS: Final = 60.0
"""How long a client may take for a question that it never said it can show."""


class NobodyAsked(Exception):  # noqa: N818  (an outcome)
    """The client cannot ask, or did not."""


async def ask(
    server: Server, message: str, answers: Sequence[str], kind: lsp.MessageType = lsp.MessageType.Info
) -> str | None:
    """The answer that the person chose; None where the question was closed. Raises NobodyAsked."""
    questions = server.features.questions
    if questions == "no":
        raise NobodyAsked
    params = lsp.ShowMessageRequestParams(
        type=kind, message=message, actions=[lsp.MessageActionItem(title=answer) for answer in answers]
    )
    try:
        async with asyncio.timeout(UNSURE_SECONDS if questions == "perhaps" else None):
            answer = await server.client.window_show_message_request_async(params)
    except JsonRpcException as error:
        logger.warning("the client cannot ask: %s", error)
        raise NobodyAsked from error
    except TimeoutError as error:
        logger.warning("the client did not answer a question")
        raise NobodyAsked from error
    return answer.title if answer is not None else None
