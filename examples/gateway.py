"""Run a gateway with uvicorn: clients of all four formats use one endpoint of a relay.

Try it without a key: run ``python -m formatbridge.testing`` in another terminal, and set the two variables that it prints.

    pip install uvicorn
    export FORMATBRIDGE_BASE_URL=https://relay.example FORMATBRIDGE_API_KEY=sk-...
    python examples/gateway.py
    curl http://127.0.0.1:8401/v1/messages -d '{"model": "m-large", "max_tokens": 99, "messages": [{"role": "user", "content": "Hi"}]}'
"""

from __future__ import annotations

import formatbridge as fb


def report(converted: fb.Converted) -> None:
    """Print what the target of a conversion cannot hold."""
    for loss in converted.losses:
        print(f"{converted.source} to {converted.target}: {loss.severity} {loss.path}, {loss.why}")


app = fb.Gateway(
    # base URL and key: FORMATBRIDGE_BASE_URL and FORMATBRIDGE_API_KEY; without the second, each caller's key is passed on
    via="chat_completions",
    on_losses=report,
    memory=fb.InMemoryStore(),
)

if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, host="127.0.0.1", port=8401)
