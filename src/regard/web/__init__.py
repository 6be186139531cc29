"""The explorer: a local page that shows what a model attends to, changes it, and shows what happens.

    regard explore runs/mine                 # the command
    app = create_app({"mine": model})        # the same as an ASGI application

The page uses the API of `app.py` and nothing else; the API knows inspections (`regard.inspect`) and how to ask a
trained model for them.
"""
