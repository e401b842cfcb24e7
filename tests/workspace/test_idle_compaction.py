"""`/compact` between turns leaves room for what every request carries besides its history."""

from __future__ import annotations

from tests.scripted.plugin import StartScripted
from tests.scripted.script import Reply, Say
from tests.workspace.kit import Place
from tui_agent.vocabulary.events import PromptCompaction

SETTINGS = '[models."scripted-1"]\nwindow = {window}\nmax_output = 1024\n'


async def test_the_next_turn_need_not_compact_again(place: Place, scripted: StartScripted) -> None:
    answers = [Reply([Say("w " * 400, chunk=800)]) for _ in range(6)]
    summary = Reply([Say("Words were exchanged.")])
    place.speak(await scripted([*answers, summary, Reply([Say("On.")])]))
    settings = place.home / "settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(SETTINGS.format(window=100_000))
    async with place.opened() as desk:
        session = await desk.begin("v " * 400)
        await desk.rest(session)
        for number in range(2, 7):
            await desk.workspace.submit(session, "v " * 400)
            await desk.rest(session, number)
        overhead = sum(
            layer.tokens
            for layer in (await desk.workspace.requests(session))[0].layers
            if layer.name != "history"
        )
    # from here on prompt and tools alone take most of what the threshold leaves
    settings.write_text(SETTINGS.format(window=round(overhead / 0.8 * 1.6) + 1024))
    async with place.opened() as desk:
        await desk.workspace.compact(session)
        await desk.trace.next(PromptCompaction, lambda e: e.phase == "completed")
        await desk.workspace.submit(session, "go on")
        await desk.rest(session)
        begun = [e for e in desk.trace.all(PromptCompaction) if e.phase == "started"]
        assert [event.trigger for event in begun] == ["manual"]
