"""Draftscope: see every decision of speculative decoding.

`python app.py` opens the inspector; `python app.py run --prompt …`, `replay`, `show` and `doctor` work
without a screen. `python app.py --help` lists them.
"""

from inspector.cli import main


def __getattr__(name: str):
    """`demo`, for Gradio's own tools (`gradio app.py`): the page over the default database."""
    if name != "demo":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from inspector.controller import Controller
    from inspector.ui import build
    from storage import Store

    return build(Controller(Store.open()))


if __name__ == "__main__":
    main()
