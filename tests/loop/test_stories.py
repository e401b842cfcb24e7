"""Whatever a model says and a person decides, and whoever stops it when: after every commit the
history can be sent, nothing runs twice and nothing runs unasked."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings

from tests.loop.stories import STORIES, Story, tell


@settings(max_examples=200)
@given(STORIES)
def test_every_prefix_of_every_story_is_a_valid_history(story: Story) -> None:
    asyncio.run(tell(story))
