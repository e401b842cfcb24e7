"""Our own files are where the person said, and closed to others."""

import os
import stat
from pathlib import Path

import pytest

from tui_agent.settings import Paths
from tui_agent.vocabulary.errors import UserError


def every_path(paths: Paths) -> list[Path]:
    return [paths.config_file, paths.database, *paths.folders]


def test_one_variable_moves_everything(tmp_path: Path) -> None:
    home = tmp_path / "elsewhere"
    paths = Paths.from_environment({"TUI_AGENT_HOME": str(home)})
    assert all(path.is_relative_to(home) for path in every_path(paths))


def test_a_relative_home_does_not_move_with_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = Paths.from_environment({"TUI_AGENT_HOME": "mine"})
    assert paths.config_file == tmp_path / "mine" / "settings.toml"


def test_without_it_everything_is_below_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = Paths.from_environment({})
    assert all(path.is_relative_to(os.environ["HOME"]) for path in every_path(paths))
    assert all("tui-agent" in str(path) for path in every_path(paths))


def test_our_folders_are_closed_to_others_and_nothing_else_is_touched(tmp_path: Path) -> None:
    home = tmp_path / "shared"
    home.mkdir(mode=0o755)
    (home / "logs").mkdir(mode=0o777)
    paths = Paths.under(home)
    paths.ensure()
    paths.ensure()
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in paths.folders} == {0o700}
    assert stat.S_IMODE(home.stat().st_mode) == 0o755
    assert not paths.config_file.exists()


def test_a_folder_that_cannot_be_made_is_one_line_with_advice(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError) as caught:
        Paths.under(tmp_path / "file").ensure()
    assert str(tmp_path / "file") in str(caught.value)
    assert "TUI_AGENT_HOME" in str(caught.value)
    assert "\n" not in str(caught.value)
