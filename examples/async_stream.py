"""Ask one question in parallel at endpoints of all formats, and print each answer while it arrives.

    python examples/async_stream.py "Which river is the longest?"

A fake relay answers, so the program needs no key and no network.
"""

from __future__ import annotations

import asyncio
import sys

import formatbridge as fb
from formatbridge.testing import Answer, FakeRelay, Usage


async def ask(client: fb.AsyncClient, question: str, via: fb.Format) -> None:
    """Send a Chat Completions request to an endpoint of another format, and print the stream."""
    request = {
        "model": "m-large",
        "messages": [{"role": "user", "content": question}],
        "max_completion_tokens": 200,
        "seed": 7,
        "stream_options": {"include_usage": True},
    }
    try:
        async with client.stream(request, "chat_completions", via=via) as stream:
            async for piece in stream.text():
                print(f"{via}: {piece!r}")
            response = (await stream.response()).parse()
    except fb.StreamError as error:  # the stream broke; what arrived before is in error.partial
        print(f"{via}: {error}", file=sys.stderr)
        return
    if response.usage is not None:
        print(f"{via}: {response.usage.completion_tokens} tokens")
    for loss in stream.losses:
        print(f"{via}: {loss}")


async def main(question: str) -> None:
    """Ask at all endpoints with one client, which shares its connections."""
    relay = FakeRelay(Answer(text="Glomma is the longest river of Norway.", usage=Usage(input=12, output=9)))
    # for a real relay: fb.AsyncClient("https://relay.example", "sk-...")
    async with fb.AsyncClient(relay.base_url, relay.api_key, http_client=relay.async_http_client()) as client:
        await asyncio.gather(*(ask(client, question, via) for via in fb.FORMATS))


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "Which river is the longest?"))
