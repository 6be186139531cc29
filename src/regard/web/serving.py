"""The explorer as a program: a free port, a server that ends cleanly, and the browser that shows it."""

import socket
import threading
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import suppress

import uvicorn

from regard.errors import RegardError, UsageError
from regard.tasks.trained import Inspectable, Trained
from regard.vectors import Vectors
from regard.web.app import create_app
from regard.web.guard import hosts_of

PORT = 8765
"""Used if it is free, so that links stay valid; otherwise any free port."""


def serve(
    models: Mapping[str, Trained | Vectors],
    folders: Mapping[str, str],
    *,
    host: str,
    port: int | None,
    browser: bool,
    tell: Callable[[str], None],
) -> None:
    """Serves the page until Ctrl-C; `tell` gets the address once it responds."""
    for model in models.values():
        # Compiles loops now, rather than during the first request.
        with suppress(RegardError):
            if isinstance(model, Inspectable):
                model.inspect("1 2")
    with listening(host, port) as listener:
        chosen = listener.getsockname()[1]
        shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        address = f"http://[{shown}]:{chosen}/" if ":" in shown else f"http://{shown}:{chosen}/"
        app = create_app(models, folders=folders, hosts=hosts_of(host))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2, ws="none"))

        def when_ready() -> None:
            tell(address)
            if browser:
                webbrowser.open(address)

        threading.Thread(target=_once_started, args=(server, when_ready), daemon=True).start()
        with suppress(KeyboardInterrupt):  # uvicorn ends cleanly, and then passes the signal on
            server.run(sockets=[listener])


def _once_started(server: uvicorn.Server, ready: Callable[[], None]) -> None:
    waiting = threading.Event()
    while not server.started and not server.should_exit:
        waiting.wait(0.02)
    if server.started:
        ready()


def listening(host: str, port: int | None) -> socket.socket:
    """A socket that listens; the usual port or any free one, unless one is asked for."""
    for choice in (PORT, 0) if port is None else (port,):
        try:
            found = socket.getaddrinfo(host, choice, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
            family, kind, protocol, _, address = found[0]
            # Only where the protocol is named does asyncio send small answers at once (TCP_NODELAY).
            listener = socket.socket(family, kind, protocol)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise UsageError(f"--host {host}: this machine has no such address ({why}); leave it out") from None
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(64)
            return listener
        except OSError as error:
            listener.close()
            why = error.strerror
    raise UsageError(f"--port {port}: cannot be used at {host} ({why}); leave it out for a free one")
