"""The filter of requests: the page is for the person at this machine, and answers no page from elsewhere."""

import ipaddress
import json
import socket
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 256 * 1024
"""Largest body of a request."""

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class TooLargeError(Exception):
    """The body exceeds the limit."""


class Guard:
    """Refuses requests with a foreign `Host` (DNS rebinding), from pages with another `Origin`, and with too large a
    body; adds security headers, also to error responses."""

    def __init__(self, app: "ASGIApp", hosts: Collection[str]) -> None:
        self.app, self.hosts = app, frozenset(hosts)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if refused := self._refusal(headers):
            await _answer(send, *refused)
            return
        size, begun = 0, False

        async def limited() -> "Message":
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MOST_BYTES:
                raise TooLargeError
            return message

        async def guarded(message: "Message") -> None:
            nonlocal begun
            if size > MOST_BYTES and not begun:
                return  # the application's error about the truncated body
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = [*message.get("headers", []), *_encoded(HEADERS)]
            await send(message)

        try:
            with suppress(TooLargeError):
                await self.app(scope, limited, guarded)
        except Exception:
            if not begun:
                await _answer(send, *_FAULT)
            raise  # the terminal shows it
        if size > MOST_BYTES and not begun:
            await _answer(send, *_TOO_LARGE)

    def _refusal(self, headers: Mapping[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not self._known(host):
            return 421, f"Host {host[:100]!r} is not this server; open the address that `regard explore` printed"
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
            return 403, f"a page of {origin[:100]!r} asked; only the page of this server itself may"
        length = headers.get("content-length", "0")
        return _TOO_LARGE if length.isdigit() and int(length) > MOST_BYTES else None

    def _known(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        return name in self.hosts or ("*" in self.hosts and _is_address(name))


_FAULT = 500, "a fault of the server, which its terminal shows; please report it"
_TOO_LARGE = 413, f"the request is larger than {MOST_BYTES // 1024} KiB; send a shorter text"


def hosts_of(address: str) -> set[str]:
    """The allowed `Host` headers for a server at an address; `*` allows all numeric addresses, which DNS cannot
    redirect."""
    loopback = {"localhost", "127.0.0.1", "::1"}
    if address in loopback or (_is_address(address) and ipaddress.ip_address(address).is_loopback):
        return loopback | {address}
    return loopback | {address.lower(), "*", socket.gethostname().lower(), socket.getfqdn().lower()}


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


async def _answer(send: "Send", status: int, error: str) -> None:
    body = json.dumps({"error": error}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **HEADERS}
    await send({"type": "http.response.start", "status": status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": body})
