"""Sessions as things: made, named, forked, deleted, and owned by one process at a time."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.scripted.plugin import StartScripted
from tests.scripted.script import Call, Hold, Reply, Say, Usage
from tests.workspace.kit import PLAIN_NO, Place, Scope, bash
from tui_agent.vocabulary.blocks import text_of
from tui_agent.vocabulary.decisions import Choice, Decision
from tui_agent.vocabulary.errors import ConflictError, NotFoundError, UsageError, UserError
from tui_agent.vocabulary.events import DoneEvent, ProviderComplete
from tui_agent.vocabulary.states import DoneReason, Mode, Phase


async def test_a_session_is_not_kept_before_its_first_message(
    place: Place, scripted: StartScripted
) -> None:
    place.speak(await scripted([Reply([Say("Hi.")])]))
    async with place.opened() as desk:
        record = await desk.session()
        await desk.workspace.rename(record.id, "a  name\n of mine")
        await desk.workspace.set_mode(record.id, Mode.PLAN)
        await desk.workspace.save_draft(record.id, "half a thou")
        shot = await desk.snapshot(record.id)
        assert (shot.phase, shot.messages, shot.draft) == (Phase.IDLE, (), "half a thou")
        assert shot.first_seq == 0
        assert await desk.workspace.sessions() == ()
        with pytest.raises(UserError):
            await desk.workspace.submit(record.id, "  \n")
        assert await desk.workspace.sessions() == ()
        await desk.workspace.submit(record.id, "hello")
        await desk.rest(record.id)
        (row,) = await desk.workspace.sessions()
        assert (row.id, row.title, row.messages) == (record.id, "a name of mine", 2)
        shot = await desk.snapshot(record.id)
        assert (shot.session.mode, shot.first_seq) == (Mode.PLAN, 1)
        assert await desk.workspace.latest_session() == record.id
        unsaved = await desk.session()
        await desk.workspace.delete(unsaved.id)
        with pytest.raises(NotFoundError):
            await desk.snapshot(unsaved.id)


async def test_a_fork_goes_its_own_way_from_the_last_closed_batch(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        lambda request: (
            Reply([Say(f"You said {request.last_user_text}.")])
            if not request.last_user_text.endswith("run it") or request.latest_results
            else Reply([Call("Bash", bash("touch a"))])
        )
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("one")
        await desk.rest(session)
        await desk.workspace.submit(session, "run it")
        item = await desk.asked()
        fork = await desk.workspace.fork_session(session)
        shot = await desk.snapshot(fork.id)
        assert shot.pending == ()
        assert shot.tool_runs == ()
        assert shot.phase is not Phase.RUNNING
        assert fork.forked_from == session
        assert [text_of(m.blocks) for m in shot.messages][:2] == ["one", "You said one."]
        assert fork.title.endswith("(fork)")
        await desk.workspace.submit(fork.id, "two")
        assert (await desk.rest(fork.id)).reason is DoneReason.MODEL_STOP
        assert [i.pending_id for i in await desk.workspace.pending()] == [item.pending_id]
        await desk.decide(item, PLAIN_NO)
        await desk.rest(session, 2)
        assert "two" not in [text_of(m.blocks) for m in await desk.messages(session)]


async def test_a_running_session_is_not_deleted(place: Place, scripted: StartScripted) -> None:
    server = await scripted([Reply([Hold("x"), Say("Hi.")])])
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("hello")
        await server.reached("x")
        with pytest.raises(ConflictError, match="interrupt"):
            await desk.workspace.delete(session)
        server.release("x")
        await desk.rest(session)
        await desk.workspace.delete(session)
        assert await desk.workspace.sessions() == ()
        with pytest.raises(NotFoundError):
            await desk.snapshot(session)
        with pytest.raises(NotFoundError):
            await desk.workspace.submit(session, "are you there")


async def test_undecided_calls_hold_the_next_prompt_until_they_are_discarded(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        [
            Reply([Call("Bash", bash("touch a")), Call("Bash", bash("touch b"))]),
            Reply([Say("Something else then.")]),
        ]
    )
    place.speak(server, wire)
    async with place.opened(attended=False) as desk:
        session = await desk.begin("touch")
        await desk.rest(session)
        with pytest.raises(ConflictError, match="discard"):
            await desk.workspace.submit(session, "something else")
        await desk.workspace.discard_open(session)
        assert await desk.workspace.pending() == ()
        assert (await desk.snapshot(session)).phase is Phase.IDLE
        await desk.workspace.submit(session, "something else")
        assert (await desk.rest(session, 2)).text == "Something else then."
        assert [o for o, _ in await desk.results(session)] == ["not_run", "not_run"]
    assert list(place.folder.iterdir()) == []


async def test_a_second_window_reads_and_decides_and_does_not_run(
    place: Place, scripted: StartScripted
) -> None:
    server = await scripted([Reply([Call("Bash", bash("touch a"))]), Reply([Say("Heard.")])])
    place.speak(server)
    async with place.opened() as desk, place.opened() as other:
        session = await desk.begin("touch")
        item = await desk.asked()
        shot = await other.snapshot(session)
        assert [i.pending_id for i in shot.pending] == [item.pending_id]
        for attempt in (
            other.workspace.submit(session, "me too"),
            other.workspace.resume(session),
            other.workspace.discard_open(session),
            other.workspace.compact(session),
            other.workspace.delete(session),
            other.workspace.edit_queue(session, ()),
        ):
            with pytest.raises(ConflictError, match="another window") as caught:
                await attempt
            assert "\n" not in str(caught.value)
        assert (await other.decide(item.pending_id)).applied
        await desk.rest(session)
        assert other.trace.all(DoneEvent) == []
        assert [m.id for m in (await other.snapshot(session)).messages] == [
            m.id for m in await desk.messages(session)
        ]
    async with place.opened() as later:
        await later.workspace.rename(session, "mine now")
        with pytest.raises(ConflictError, match="nothing to go on"):
            await later.workspace.resume(session)


async def test_limits_stop_and_one_key_goes_on(place: Place, scripted: StartScripted) -> None:
    place.home.mkdir(parents=True)
    (place.home / "settings.toml").write_text("[limits]\nmax_turns = 2\n")
    server = await scripted(
        lambda request: (
            Reply([Say("Done.")])
            if request.last_user_text.endswith("go on.")
            else Reply([Call("Glob", {"pattern": f"*{len(request.results)}"})])
        )
    )
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("look for ever")
        done = await desk.rest(session)
        assert (done.reason, done.rounds) == (DoneReason.MAX_TURNS, 2)
        shot = await desk.snapshot(session)
        assert (shot.phase, "limit" in shot.waiting_for) == (Phase.REQUIRES_ACTION, True)
        await desk.workspace.resume(session)
        assert (await desk.rest(session, 2)).text == "Done."


async def test_a_search_shows_the_messages_and_what_a_session_is_doing(
    place: Place, scripted: StartScripted
) -> None:
    server = await scripted(
        lambda request: (
            Reply([Hold("x"), Say("Yes.")])
            if request.last_user_text.endswith("more")
            else Reply([Say("The needle is in the hay.")])
        )
    )
    place.speak(server)
    async with place.opened() as desk:
        found = await desk.begin("where is it?")
        await desk.rest(found)
        other = await desk.begin("a needle and more")
        await server.reached("x")
        second, first = await desk.workspace.search("needle")
        assert (first.session.id, second.session.id) == (found, other)
        (hit,) = first.hits
        assert hit.snippet == "The needle is in the hay."
        assert [hit.snippet[a:b] for a, b in hit.matches] == ["needle"]
        assert second.session.phase is Phase.RUNNING
        async with place.opened() as window:
            (row,) = [r for r in await window.workspace.sessions() if r.id == other]
            assert row.phase is Phase.RUNNING  # in the other process, and not cut
        await desk.workspace.rename(found, "quite another name\x1b[2J")
        (match,) = await desk.workspace.search("another name")
        assert (match.session.title, match.hits) == ("quite another name", ())
        assert await desk.workspace.titles([found, "ses_none"]) == {found: "quite another name"}
        with pytest.raises(UsageError, match="empty"):
            await desk.workspace.rename(found, " \x1b[2J\n")
        server.release("x")
        await desk.rest(other)


async def test_tokens_are_counted_for_a_session_and_for_its_tree(
    place: Place, scripted: StartScripted
) -> None:
    task = {"description": "look", "prompt": "look around", "subagent_type": "general-purpose"}
    # every session plays the script from its start, so the subagent sends one of its own
    script = [Reply([Call("Task", task)]), Reply([Say("Seen.")]), Reply([Say("Done.")])]
    place.speak(await scripted(script))
    async with place.opened() as desk:
        session = await desk.begin("send someone")
        await desk.rest(session)
        shot = await desk.snapshot(session)
        (child,) = shot.children
        whole = await desk.workspace.usage(session)
        part = await desk.workspace.usage(child.id)
        (grandchild,) = (await desk.snapshot(child.id)).children
        last = await desk.workspace.usage(grandchild.id)
        assert last.own == last.tree
        assert part.own + last.own == part.tree
        assert whole.own + part.tree == whole.tree
        assert part.own.total > 0
        (row,) = await desk.workspace.sessions()
        assert row.usage == whole.tree
        new = await desk.session()
        assert (await desk.workspace.usage(new.id)).tree.total == 0


async def test_a_session_of_another_folder_can_be_deleted_while_nobody_runs_it(
    place: Place, scripted: StartScripted
) -> None:
    server = await scripted([Reply([Say("Hi.")])])
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("hello")
        await desk.rest(session)
        elsewhere = replace(place, folder=place.folder.parent / "elsewhere")
        elsewhere.folder.mkdir()
        async with elsewhere.opened() as other:
            with pytest.raises(ConflictError, match="another window"):
                await other.workspace.delete(session)
    async with elsewhere.opened() as other:
        await other.workspace.delete(session)
        assert await other.workspace.sessions(everywhere=True) == ()


async def test_what_was_allowed_for_good_can_be_seen_and_taken_back(
    place: Place, scripted: StartScripted
) -> None:
    place.speak(
        await scripted(
            lambda request: (
                Reply([Say("Done.")])
                if request.latest_results
                else Reply([Call("Bash", bash("touch a"))])
            )
        )
    )
    async with place.opened() as desk:
        session = await desk.begin("touch")
        item = await desk.asked()
        await desk.decide(item, Decision(Choice.APPROVE, scope=Scope.ALWAYS))
        await desk.rest(session)
        (grant,) = await desk.workspace.list_grants()
        assert (grant.rule, grant.scope, grant.folder) == (
            "Bash(touch a)",
            Scope.ALWAYS,
            str(place.folder),
        )
        await desk.workspace.submit(session, "again")
        await desk.rest(session, 2)
        assert grant.id is not None
        assert await desk.workspace.remove_grant(grant.id) == grant
        assert await desk.workspace.list_grants(everywhere=True) == ()
        await desk.workspace.submit(session, "and again")
        assert (await desk.asked()).tool == "Bash"
        with pytest.raises(NotFoundError):
            await desk.workspace.remove_grant(grant.id)
        await desk.workspace.interrupt(session)


async def test_an_answer_is_kept_when_no_model_can_be_asked(
    place: Place, scripted: StartScripted
) -> None:
    server = await scripted([Reply([Call("Bash", bash("touch a"))]), Reply([Say("Done.")])])
    place.speak(server)
    async with place.opened(attended=False) as desk:
        session = await desk.begin("touch")
        await desk.rest(session)
        (item,) = await desk.workspace.pending()
    key = place.environ.pop("ANTHROPIC_API_KEY")
    async with place.opened(attended=False) as desk:
        result = await desk.decide(item)
        assert (result.applied, result.goes_on) == (True, False)
        assert "set ANTHROPIC_API_KEY" in result.obstacle
        assert not (place.folder / "a").exists()
        assert await desk.workspace.pending() == ()
    place.environ["ANTHROPIC_API_KEY"] = key
    async with place.opened(attended=False) as desk:
        await desk.workspace.resume(session)
        assert (await desk.rest(session)).text == "Done."
        assert (place.folder / "a").exists()


async def test_whoever_comes_at_once_to_a_reopened_session_meets_one_runner(
    place: Place, scripted: StartScripted
) -> None:
    place.speak(await scripted([Reply([Say("one")]), Reply([Hold("held"), Say("two")])]))
    async with place.opened() as desk:
        session = await desk.begin("first")
        await desk.rest(session)
    async with place.opened() as desk:
        workspace = desk.workspace
        await asyncio.gather(workspace.snapshot(session), workspace.submit(session, "second"))
        runner = workspace.runner(session)
        assert runner is not None
        assert runner.is_busy
        await workspace.submit(session, "third")
        assert [m.text for m in (await desk.snapshot(session)).queue] == ["third"]


async def test_what_a_session_cost_is_known_after_a_restart(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        [Reply([Say("one"), Usage(1_000, 10)]), Reply([Say("two"), Usage(2_000, 20)])]
    )
    place.speak(server, wire)
    settings = place.home / "settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[models."scripted-1"]\nprice = { input = 1.0, output = 10.0 }\n')
    async with place.opened() as desk:
        session = await desk.begin("first")
        await desk.rest(session)
        await desk.workspace.submit(session, "second")
        await desk.rest(session, 2)
        told = [event.cost for event in desk.trace.all(ProviderComplete)]
    async with place.opened() as desk:
        cost = (await desk.snapshot(session)).cost
        assert cost == pytest.approx(0.0033)
        assert cost == pytest.approx(sum(each for each in told if each is not None))
