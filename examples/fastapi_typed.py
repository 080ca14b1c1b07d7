"""Serve an Anthropic Messages endpoint with FastAPI and typed models, over an endpoint of OpenAI Responses.

    pip install fastapi uvicorn
    python examples/fastapi_typed.py
    curl http://127.0.0.1:8402/ask -H "content-type: application/json" \\
        -d '{"model": "m-large", "max_tokens": 99, "messages": [{"role": "user", "content": "Hi"}]}'

A fake relay answers, so the program needs no key and no network. ``examples/gateway.py`` serves complete APIs, with streams.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Response

import formatbridge as fb
from formatbridge.formats.messages import wire
from formatbridge.testing import FakeRelay

relay = FakeRelay("Glomma is the longest river of Norway.")
# for a real relay, leave out http_client= and set FORMATBRIDGE_BASE_URL and FORMATBRIDGE_API_KEY instead of the first two arguments
client = fb.AsyncClient(relay.base_url, relay.api_key, http_client=relay.async_http_client())


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
    """Close the client's connections when the server stops."""
    async with client:
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/ask", response_model_exclude_unset=True)
async def ask(request: wire.Request, response: Response) -> wire.Response:
    """Answer a request. FastAPI validates it, and documents both models at /docs."""
    if request.tools:
        raise HTTPException(400, "this endpoint has no tools")
    request.system = "Answer in one sentence."
    try:
        reply = await client.send(request, via="responses")
    except fb.APIStatusError as error:
        raise HTTPException(error.status, str(error)) from error
    response.headers["x-losses"] = str(len(reply.losses))
    return reply.parse()


def main() -> None:
    """Run the server."""
    import uvicorn

    uvicorn.run(app, host="127.0.0.1", port=8402)


if __name__ == "__main__":
    main()
