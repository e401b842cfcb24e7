"""Which model a session gets, what can be picked, and changing it in mid-conversation."""

from __future__ import annotations

import socket

import pytest

from tests.scripted.plugin import StartScripted
from tests.scripted.script import Call, Reply, Say, Think
from tests.workspace.kit import Place, bash
from tui_agent.settings.load import Overrides
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.errors import UserError
from tui_agent.vocabulary.states import DoneReason
from tui_agent.workspace import models as rooms


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(autouse=True)
def _no_servers_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "LOCAL_SERVERS", {})


async def chosen(place: Place, flags: Overrides | None = None) -> ModelChoice:
    async with place.opened(flags=flags) as desk:
        return (await desk.session()).model


def settings(place: Place, text: str) -> None:
    place.home.mkdir(parents=True, exist_ok=True)
    (place.home / "settings.toml").write_text(text)


async def test_a_flag_beats_environment_beats_settings_beats_keys(place: Place) -> None:
    assert (await chosen(place)).provider == "demo"
    place.environ["DEEPSEEK_API_KEY"] = "k"
    assert (await chosen(place)).provider == "deepseek"
    place.environ["OPENAI_API_KEY"] = "k"
    assert (await chosen(place)).provider == "openai"
    place.environ["ANTHROPIC_API_KEY"] = "k"
    assert (await chosen(place)).provider == "anthropic"
    settings(place, '[model]\nprovider = "glm"\nid = "from-settings"\n')
    assert await chosen(place) == ModelChoice("glm", "from-settings")
    place.environ["TUI_AGENT_PROVIDER"] = "gemini"
    place.environ["TUI_AGENT_MODEL"] = "from-environment"
    assert await chosen(place) == ModelChoice("gemini", "from-environment")
    flags = Overrides(provider="kimi", model="from-flag")
    assert await chosen(place, flags) == ModelChoice("kimi", "from-flag")


async def test_an_address_without_a_provider_is_a_compatible_server(place: Place) -> None:
    place.environ["ANTHROPIC_API_KEY"] = "k"
    place.environ["TUI_AGENT_BASE_URL"] = "http://127.0.0.1:9/v1"
    assert await chosen(place) == ModelChoice("compatible", "", "http://127.0.0.1:9/v1")


async def test_a_model_of_the_settings_brings_its_provider_and_address(place: Place) -> None:
    settings(
        place,
        '[model]\nid = "mine"\n[models."mine"]\nprovider = "compatible"\n'
        'base_url = "http://127.0.0.1:9/v1"\nwindow = 4096\n',
    )
    assert await chosen(place) == ModelChoice("compatible", "mine", "http://127.0.0.1:9/v1")


async def test_without_a_key_the_turn_says_which_variable_to_set(place: Place) -> None:
    place.environ["TUI_AGENT_PROVIDER"] = "anthropic"
    async with place.opened() as desk:
        session = await desk.begin("hello")
        done = await desk.rest(session)
        assert done.reason is DoneReason.ERROR
        assert "ANTHROPIC_API_KEY" in (done.cause or "")
        with pytest.raises(UserError, match="OPENAI_API_KEY"):
            await desk.workspace.set_model(session, ModelChoice("openai", "x"))


async def test_a_provider_nobody_knows_is_one_line(place: Place) -> None:
    place.environ["TUI_AGENT_PROVIDER"] = "nobody"
    with pytest.raises(UserError, match="nobody") as caught:
        await chosen(place)
    assert "\n" not in str(caught.value)


async def test_the_first_served_model_is_taken_when_none_is_named(
    place: Place, scripted: StartScripted
) -> None:
    server = await scripted([Reply([Say("Hi.")])], models=["small-1", "small-2"])
    place.environ["TUI_AGENT_BASE_URL"] = server.chat_url
    async with place.opened() as desk:
        session = await desk.begin("hello")
        await desk.rest(session)
        assert server.requests[0].model == "small-1"
        shot = await desk.snapshot(session)
        assert shot.session.model.model == "small-1"
        assert shot.messages[-1].model == "small-1"


async def test_a_server_that_serves_nothing_is_said(place: Place, scripted: StartScripted) -> None:
    server = await scripted([], models=[])
    place.environ["TUI_AGENT_BASE_URL"] = server.chat_url
    async with place.opened() as desk:
        session = await desk.begin("hello")
        done = await desk.rest(session)
        assert "--model" in (done.cause or "")


async def test_local_servers_are_found_and_offered_and_the_demo_is_last(
    place: Place, scripted: StartScripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await scripted([Reply([Say("From here.")])], models=["local-1", "local-2"])
    nobody = f"http://127.0.0.1:{free_port()}/v1"
    monkeypatch.setattr(rooms, "LOCAL_SERVERS", {"mine": server.chat_url, "absent": nobody})
    place.environ["OPENAI_API_KEY"] = "k"
    async with place.opened() as desk:
        offered = await desk.workspace.models()
        local = [offer for offer in offered if offer.choice.provider == "compatible"]
        assert [offer.choice.model for offer in local] == ["local-1", "local-2"]
        assert all("mine" in offer.title for offer in local)
        assert any(offer.choice.provider == "openai" for offer in offered)
        assert offered[-1].choice.provider == "demo"
        session = await desk.begin("hello", model=local[0].choice)
        assert (await desk.rest(session)).text == "From here."


async def test_something_else_on_a_local_port_is_no_server(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        monkeypatch.setattr(rooms, "LOCAL_SERVERS", {"deaf": url})
        monkeypatch.setattr(rooms, "LIST_SECONDS", 0.3)
        async with place.opened() as desk:
            offered = await desk.workspace.models()
            assert [offer.choice.provider for offer in offered] == ["demo"]


async def test_changing_the_maker_in_the_middle_keeps_the_history_valid(
    place: Place, scripted: StartScripted
) -> None:
    look = Reply([Think("I look."), Say("Looking."), Call("Glob", {"pattern": "*"})])
    first = await scripted([look, Reply([Think("Hm."), Say("First.")])])
    second = await scripted(
        lambda request: (
            Reply([Say("Third.")])
            if "again" in request.last_user_text
            else Reply([Say("Second.")])
            if request.latest_results
            else Reply([Think("I look too."), Call("Glob", {"pattern": "*.md"})])
        )
    )
    third = await scripted(lambda request: Reply([Say("Back again.")]), issued=first.issued)
    place.speak(first)
    async with place.opened() as desk:
        session = await desk.begin("one")
        assert (await desk.rest(session)).text == "First."
        chat = ModelChoice("compatible", "scripted-1", second.chat_url)
        await desk.workspace.set_model(session, chat)
        await desk.workspace.submit(session, "two")
        assert (await desk.rest(session, 2)).text == "Second."
        anthropic = ModelChoice("anthropic", "scripted-1", third.url)
        await desk.workspace.set_model(session, anthropic)
        await desk.workspace.submit(session, "three")
        assert (await desk.rest(session, 3)).text == "Back again."
        makers = [m.provider for m in await desk.messages(session) if m.role == "assistant"]
        assert makers == ["anthropic", "anthropic", "compatible", "compatible", "anthropic"]
        await desk.workspace.set_model(session, chat)
        await desk.workspace.submit(session, "again")
        assert (await desk.rest(session, 4)).text == "Third."


async def test_the_model_may_change_while_calls_are_open(
    place: Place, scripted: StartScripted
) -> None:
    first = await scripted([Reply([Think("Hm."), Call("Bash", bash("echo hi"))])])
    second = await scripted([Reply([Say("Other voice.")])])
    place.speak(first)
    async with place.opened() as desk:
        session = await desk.begin("run")
        item = await desk.asked()
        chat = ModelChoice("compatible", "scripted-1", second.chat_url)
        await desk.workspace.set_model(session, chat)
        await desk.decide(item)
        assert (await desk.rest(session)).text == "Other voice."
        assert "hi" in second.requests[0].latest_results[0].text


async def test_doctor_says_what_is_missing_and_what_to_type(
    place: Place, scripted: StartScripted
) -> None:
    async with place.opened() as desk:
        lines = {check.name: check for check in await desk.workspace.doctor()}
        assert lines["database"].ok
        assert lines["anthropic"].ok is None
        assert "ANTHROPIC_API_KEY" in lines["anthropic"].advice
        assert "demo" in lines["model"].text
    server = await scripted([])
    place.speak(server)
    async with place.opened() as desk:
        lines = {check.name: check for check in await desk.workspace.doctor()}
        assert lines["anthropic"].ok
        assert lines["model"].ok
        assert "scripted-1" in lines["model"].text
        assert "sk-test" not in str(lines)
    place.environ["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{free_port()}"
    async with place.opened() as desk:
        lines = {check.name: check for check in await desk.workspace.doctor()}
        assert lines["model"].ok is False


async def test_the_model_of_a_new_session_can_always_be_picked_again(place: Place) -> None:
    place.environ |= {
        "TUI_AGENT_PROVIDER": "anthropic",
        "TUI_AGENT_API_KEY": "k",
        "TUI_AGENT_MODEL": "a-model-nobody-lists",
    }
    async with place.opened() as desk:
        usual = (await desk.session()).model
        assert (await desk.workspace.models())[0].choice == usual
