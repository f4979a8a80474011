"""The baseline: a bare ASGI app under the same uvicorn, event loop and TLS, which answers with constants.

    python -m bench.bare PORT CERTIFICATE KEY

`GET /small` has the size of one object, `GET /large` that of a list, `POST` reads its body and sends it back.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, MutableMapping

import uvicorn

from trainshed.kube.objects import JSON

Message = MutableMapping[str, JSON]

SMALL = b"x" * 1400
LARGE = b"x" * 1400 * 500


async def app(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    body = LARGE if scope["path"] == "/large" else SMALL
    if scope["method"] == "POST":
        body = (await receive())["body"]
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    port, certificate, key = sys.argv[1:]
    uvicorn.run(
        app,
        port=int(port),
        loop="uvloop",
        http="httptools",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )


if __name__ == "__main__":
    main()
