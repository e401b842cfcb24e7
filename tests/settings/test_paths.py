"""Our own files are where the person said, and closed to others."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
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
    assert f"{tmp_path / 'file'} is not a folder" in str(caught.value)
    assert "TUI_AGENT_HOME" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_of_somebody_else_is_named_with_its_owner(open_place: Path) -> None:
    """As a user whom permissions bind, below a folder of the one who runs the tests."""
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tui_agent.settings import Paths\n"
        "from tui_agent.vocabulary.errors import UserError\n"
        "try:\n    Paths.under(Path(sys.argv[1])).ensure()\n"
        "except UserError as error:\n    print(error)\n"
    )
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv, to be somebody else")
    (open_place / "data").mkdir(mode=0o755)
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable]
    done = subprocess.run(
        [*command, "-c", script, str(open_place)],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stdout.splitlines()
    assert line.startswith(f"{open_place / 'data'}: ")
    assert f"{open_place / 'data'} belongs to root" in line
    assert "TUI_AGENT_HOME" in line


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that another user can reach."""
    place = Path(tempfile.mkdtemp(prefix="tui-agent-paths-"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)
