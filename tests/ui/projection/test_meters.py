"""The meters at the foot tell what was counted from what is reckoned."""

from __future__ import annotations

from dataclasses import replace

from tests.ui import scenes
from tui_agent.ui.panes.bars import status_meters
from tui_agent.ui.projection.session import SessionView
from tui_agent.vocabulary.events import ProviderComplete
from tui_agent.vocabulary.messages import StopReason
from tui_agent.vocabulary.usage import Usage


def meters(*usages: Usage) -> list[str]:
    view = SessionView(scenes.worked_in())
    for seq, usage in enumerate(usages, view.seq + 1):
        done = ProviderComplete(
            model_call_id="m", stop_reason=StopReason.END_TURN, usage=usage, seq=seq
        )
        view.apply(replace(done, session_id=view.id, agent_path=(view.id,)))
    return [piece.text for piece in status_meters(view)]


def test_counted_tokens_stand_as_they_are() -> None:
    assert "~" not in " ".join(meters(Usage(100, 20)))


def test_one_reckoned_call_makes_the_sum_an_estimate() -> None:
    found = meters(Usage(100, 20), Usage(1_000, 20, estimated=True), Usage(5, 5))
    assert [text for text in found if text.startswith("~") and text.endswith(" tok")]


def test_an_estimate_is_still_one_after_a_restart() -> None:
    snapshot = scenes.worked_in()
    counted = [message for message in snapshot.messages if message.usage is not None]
    reckoned = replace(counted[0], usage=Usage(9, 9, estimated=True))
    messages = tuple(reckoned if m is counted[0] else m for m in snapshot.messages)
    view = SessionView(replace(snapshot, messages=messages))
    assert any(piece.text.startswith("~") for piece in status_meters(view))


def test_the_share_of_the_cache_is_shown_where_the_provider_tells_it() -> None:
    assert not any("cached" in text for text in meters(Usage(100, 20)))
    cached = meters(Usage(10_000, 20, cache_read=1_000_000))
    assert any(text.endswith("% cached") for text in cached)
