"""Figures of the conversation view: processor milliseconds, medians, printed and never judged.

Run it as `python -m tests.bench.transcript`. Headless, but with the terminal codes of every paint
made, which Textual's headless driver leaves out.
"""

import asyncio
import gc
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import cast

from textual._compositor import CompositorUpdate
from textual.app import App, ComposeResult

from tui_agent.ui.themes import DARK
from tui_agent.ui.transcript import (
    AssistantMarkdown,
    Item,
    StreamingText,
    TranscriptView,
    UserText,
    warm_up,
)
from tui_agent.ui.transcript.markdown import render_markdown
from tui_agent.ui.transcript.stream import split_parts

MESSAGE = """## Step {number}

Rounding happens **per line**, so the total is off by a cent when *several* lines round up. The fix
is to sum the exact products and round `once`, as `tax.py` does; see [the note](https://example.org/n).

1. sum the products of price and quantity
2. round the sum half up
   - with `decimal`, not floats
   - and only where money is shown
3. write the test

```python
def total(self) -> Decimal:
    # one rounding only
    exact = sum(line.price * line.quantity for line in self.lines)
    return exact.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
```

| Case | Before | After |
|:-----|-------:|------:|
| 3 x 0.335 | 1.02 | 1.01 |
| 7 x 0.145 | 1.05 | 1.02 |

> The specification says that a total is rounded, not its parts.

A last paragraph says what was not done and why, in a sentence or two that wrap on most screens. It
is here so that the message has about the length that answers have.
"""


class Bench(App[None]):
    """A transcript and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.frames = 0
        # A frame lasts a thirtieth of a second here, however fast they are made.
        self.view = TranscriptView(clock=lambda: self.frames / 30 + time.process_time())

    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        self.register_theme(DARK)
        self.theme = DARK.name


def items(count: int) -> list[Item]:
    made: list[Item] = []
    for number in range(0, count, 2):
        made.append(UserText(f"u{number}", f"Question {number}?"))
        made.append(AssistantMarkdown(f"a{number}", MESSAGE.format(number=number)))
    return made


async def frame(app: Bench, change: Callable[[], object]) -> float:
    """Processor milliseconds of a change, its paint and the terminal codes of it."""
    started = time.process_time()
    change()
    app.view.flush()
    compositor = app.screen._compositor
    compositor.update_widgets({app.view})
    update = compositor.render_update()
    if update is not None:
        cast("CompositorUpdate", update).render_segments(app.console)
    spent = time.process_time() - started
    app.frames += 1
    await asyncio.sleep(0)
    return spent * 1000


def show(name: str, values: list[float]) -> None:
    values.sort()
    p95 = values[int(len(values) * 0.95) - 1] if len(values) > 1 else values[0]
    print(f"{name:<48} {statistics.median(values):8.2f} ms   p95 {p95:8.2f}")


async def with_history(count: int) -> None:
    app = Bench()
    async with app.run_test(size=(120, 40)) as pilot:
        history = items(count)
        await pilot.pause()
        gc.collect()
        show(f"open {count} messages", [await frame(app, lambda: app.view.set_items(history))])
        gc.freeze()
        app.view.flush()
        show(
            f"scroll by 3 rows, {count}",
            [await frame(app, lambda: app.view.scroll_rows(-3)) for _ in range(200)],
        )
        show(
            f"scroll back by 3 rows (cached), {count}",
            [await frame(app, lambda: app.view.scroll_rows(3)) for _ in range(190)],
        )
        ids = [f"u{number}" for number in range(0, count, max(2, count // 50 // 2 * 2))]
        jumps = [
            await frame(
                app,
                partial(app.view.restore_anchor, {"follow": False, "item_id": place}),
            )
            for place in ids
        ]
        show(f"jump to an uncached place, {count}", jumps)
        app.view.follow = True
        show(
            f"append a message, {count}",
            [
                await frame(
                    app,
                    partial(
                        app.view.append,
                        AssistantMarkdown(f"n{number}", MESSAGE.format(number=number)),
                    ),
                )
                for number in range(30)
            ],
        )
        started = time.process_time()
        await pilot.resize_terminal(100, 40)
        await pilot.pause()
        print(f"{f'resize, {count}':<48} {(time.process_time() - started) * 1000:8.2f} ms")


async def streaming(name: str, text: str, *, tokens_a_frame: int = 3) -> None:
    app = Bench()
    async with app.run_test(size=(120, 40)) as pilot:
        app.view.set_items([*items(200), StreamingText("s")])
        app.view.flush()
        await pilot.pause()
        tokens = [text[at : at + 4] for at in range(0, len(text), 4)][:1000]
        costs = []
        for at in range(0, len(tokens), tokens_a_frame):
            chunk = tokens[at : at + tokens_a_frame]

            def change(chunk: list[str] = chunk) -> None:
                for token in chunk:
                    app.view.stream_append("s", token)

            costs.append(await frame(app, change))
        end = await frame(app, lambda: app.view.stream_end("s"))
        total = sum(costs) + end
        show(f"frame while streaming: {name}", costs)
        share = total / 100
        print(f"{f'1,000 tokens at 100/s: {name}':<48} {total:8.0f} ms   = {share:.1f} % of a core")


def rendering() -> None:
    text = MESSAGE.format(number=1)

    def timed(work: Callable[[], object]) -> list[float]:
        values = []
        for _ in range(50):
            started = time.process_time()
            work()
            values.append((time.process_time() - started) * 1000)
        return values

    lines = len(render_markdown(text, 100))
    show(f"render {len(text)} characters, {lines} lines", timed(lambda: render_markdown(text, 100)))
    show("cut it into parts", timed(lambda: split_parts(text, {})))


def main() -> None:
    """Prints everything."""
    warm_up()
    rendering()
    for count in (100, 10_000):
        asyncio.run(with_history(count))
    mixed = "".join(MESSAGE.format(number=number) for number in range(4))
    asyncio.run(streaming("mixed", mixed))
    code = "```python\n" + "value = compute(value, 1)  # step\n" * 200
    asyncio.run(streaming("one long fence", code))
    table = "| a | b | c |\n|---|--:|---|\n" + "| some cell | 1.25 | words |\n" * 200
    asyncio.run(streaming("one long table", table))
    asyncio.run(streaming("one long list", "- an item of a list that goes on\n" * 200))


if __name__ == "__main__":
    main()
