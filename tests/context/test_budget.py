"""How large a request is: the provider's own count where there is one, an estimate for the rest."""

from __future__ import annotations

import pytest

from tests.context.history import model, numbered, result, results, use, user
from tui_agent.context.budget import (
    MESSAGE_TOKENS,
    block_tokens,
    compaction_threshold,
    context_tokens,
    cost,
    message_tokens,
    output_reserve,
    overhead_tokens,
    text_tokens,
)
from tui_agent.providers.base import ToolSchema
from tui_agent.vocabulary.agents import ModelFacts
from tui_agent.vocabulary.blocks import ImageBlock, ThinkingBlock, ToolResultBlock
from tui_agent.vocabulary.usage import IMAGE_TOKENS, Usage

COUNTED = Usage(input=700, output=50, cache_read=200, cache_write=100)


def test_without_a_count_everything_is_estimated() -> None:
    history = numbered(user("x" * 360), model("y" * 36))
    assert context_tokens(history, overhead=1_000) == 1_000 + 110 + 2 * MESSAGE_TOKENS


def test_the_last_count_stands_for_everything_up_to_it() -> None:
    """Cached parts of the prompt are parts of it; the answer is in the next prompt too."""
    counted = model("y", usage=COUNTED)
    history = numbered(user("x" * 9_999), counted, user("z" * 36))
    assert context_tokens(history, overhead=5_000) == 1_050 + 10 + MESSAGE_TOKENS


def test_a_count_from_before_a_boundary_says_nothing() -> None:
    counted = model("y" * 36, usage=COUNTED)
    history = numbered(user("x" * 36), counted)
    assert context_tokens(history, 0, counted_after=2) == 2 * (10 + MESSAGE_TOKENS)
    assert context_tokens(history, 0, counted_after=1) == COUNTED.total


def test_a_provider_that_counts_nothing_is_not_believed() -> None:
    history = numbered(user("x" * 36), model("y" * 36, usage=Usage(output=4)))
    assert context_tokens(history, 7) == 7 + 2 * (10 + MESSAGE_TOKENS)


def test_every_kind_of_block_has_a_size() -> None:
    image = ImageBlock("image/png", "A" * 40_000)
    assert block_tokens((image,)) == IMAGE_TOKENS
    assert block_tokens((ThinkingBlock("x" * 36),)) == 10
    assert block_tokens((ToolResultBlock("c", (image, image)),)) == 2 * IMAGE_TOKENS
    assert block_tokens((use("c"),)) == text_tokens('Read{"file_path": "c"}')
    assert message_tokens(results(result("c", "x" * 36))) == 10 + MESSAGE_TOKENS


def test_the_tools_and_the_system_prompt_count() -> None:
    schema = ToolSchema("Read", "d" * 36, {"type": "object"})
    tools_alone = text_tokens("Read" + "d" * 36 + '{"type": "object"}')
    assert overhead_tokens(("s" * 36,), (schema,)) == 10 + tools_alone


@pytest.mark.parametrize(
    ("window", "max_output", "reserve", "threshold"),
    [
        (200_000, 8_000, 8_000, 153_600),
        (32_768, 4_096, 4_096, 22_938),
        (8_000, 8_000, 2_000, 4_800),  # a small window keeps most of itself for the prompt
    ],
)
def test_the_threshold_is_four_fifths_of_what_is_left_for_the_prompt(
    window: int, max_output: int, reserve: int, threshold: int
) -> None:
    facts = ModelFacts(window=window, max_output=max_output)
    assert output_reserve(facts) == reserve
    assert compaction_threshold(facts) == threshold


def test_a_cost_needs_prices_and_takes_an_unknown_cache_price_for_that_of_input() -> None:
    usage = Usage(input=1_000_000, output=100_000, cache_read=1_000_000, cache_write=10_000)
    assert cost(usage, ModelFacts()) is None
    assert cost(usage, ModelFacts(price_input=3.0)) is None
    plain = ModelFacts(price_input=3.0, price_output=15.0)
    assert cost(usage, plain) == pytest.approx(3.0 + 1.5 + 3.0 + 0.03)
    cached = ModelFacts(
        price_input=3.0, price_output=15.0, price_cache_read=0.3, price_cache_write=3.75
    )
    assert cost(usage, cached) == pytest.approx(3.0 + 1.5 + 0.3 + 0.0375)
    free = ModelFacts(price_input=0.0, price_output=0.0)
    assert cost(usage, free) == 0


def test_the_share_of_the_prompt_that_came_from_the_cache() -> None:
    assert Usage(input=100, cache_read=300).cached_share == 0.75
    assert Usage(input=100, cache_read=0, cache_write=5).cached_share == 0
    assert Usage(input=100).cached_share is None
    assert Usage(cache_read=0).cached_share is None


def test_a_sum_is_an_estimate_when_a_part_of_it_is() -> None:
    assert (Usage(input=1) + Usage(input=2, estimated=True)) == Usage(input=3, estimated=True)
    assert not (Usage(input=1) + Usage(input=2)).estimated
