"""The explorer: a local page that shows what a model attends to, changes it, and shows what happens.

    regard explore runs/mine                 # the command
    from regard.web import create_app
    app = create_app({"mine": model})        # the same as an ASGI application

The page uses the API of `app.py` and nothing else; the API knows inspections (`regard.inspect`) and how to ask a
trained model for them.
"""

from typing import TYPE_CHECKING

from regard.registry import found_on_use

if TYPE_CHECKING:
    from regard.web.app import create_app

__getattr__ = found_on_use(__name__, {"app": ("create_app",)})

__all__ = ["create_app"]
