"""A page to look into a running world with: `serve(world)`, and `tick()` once a frame.

The world is touched in `tick()` only, on the thread that calls it. Requests wait for it in a queue;
what takes long (sorting, histograms, who has what) is worked out on the server's threads, from
copies that ticks made piece by piece.
"""

from __future__ import annotations

try:
    from ecsgen.inspector.inspector import Inspector, serve
except ModuleNotFoundError as error:
    if error.name not in ("starlette", "uvicorn"):
        raise
    raise ImportError(
        f"the inspector needs {error.name}: pip install 'ecsgen[inspect]'", name=error.name
    ) from None

__all__ = ["Inspector", "serve"]
