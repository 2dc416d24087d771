"""A reverse proxy that serves an address under a prefix, as a shared server would."""

from __future__ import annotations

import socket
import threading
import time

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

HOP = {"host", "content-length", "transfer-encoding", "connection", "content-encoding", "accept-encoding"}


def under_prefix(target: str, prefix: str) -> tuple[str, uvicorn.Server]:
    """Serve `target` below `prefix`; returns the address and the server (stop: should_exit = True)."""

    async def forward(request: Request) -> StreamingResponse:
        client = httpx.AsyncClient(timeout=None)
        outgoing = client.build_request(
            request.method,
            target + request.url.path.removeprefix(prefix),
            params=request.query_params,
            headers={k: v for k, v in request.headers.items() if k not in HOP},
            content=await request.body(),
        )
        answer = await client.send(outgoing, stream=True)
        headers = {k: v for k, v in answer.headers.items() if k not in HOP}
        return StreamingResponse(answer.aiter_bytes(), answer.status_code, headers)

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    routes = [Route(prefix + "{path:path}", forward, methods=["GET", "HEAD", "POST"])]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), port=port, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.02)
    return f"http://127.0.0.1:{port}{prefix}/", server
