"""What counts, from where, and how a broken file is reported."""

import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from tui_agent.settings import LoadedSettings, ModelSettings, Overrides, Paths, load_settings
from tui_agent.settings.model import Effort
from tui_agent.vocabulary.agents import EFFORTS
from tui_agent.vocabulary.errors import UsageError, UserError

DESIGNED = """
[model]
provider = "anthropic"
id = "claude-sonnet-5-5"
[models."my-local"]
provider = "compatible"
base_url = "http://127.0.0.1:8080/v1"
window = 32768
max_output = 4096
price = { input = 0.0, output = 0.0, cache_read = 0.0 }
options = { temperature = 0 }
[limits]
max_turns = 25
[permissions]
allow = ["Bash(git status)"]
[ui]
theme = "light"
"""


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = Paths.under(tmp_path / "mine")
    paths.config_file.parent.mkdir()
    return paths


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".tui-agent").mkdir(parents=True)
    return tmp_path / "project"


def load(
    paths: Paths,
    folder: Path,
    user: str | bytes = "",
    environ: dict[str, str] | None = None,
    overrides: Overrides | None = None,
) -> LoadedSettings:
    data = user if isinstance(user, bytes) else user.encode()
    paths.config_file.write_bytes(data)
    return load_settings(folder, environ or {}, overrides, paths=paths)


def the_line(paths: Paths, folder: Path, user: str | bytes) -> str:
    """The one line that a broken user file ends in, without the folder."""
    with pytest.raises(UserError) as caught:
        load(paths, folder, user)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(f"{paths.config_file}:")
    return line.removeprefix(f"{paths.config_file}:")


def test_every_documented_setting_is_taken(paths: Paths, project: Path) -> None:
    loaded = load(paths, project, DESIGNED)
    settings = loaded.settings
    assert settings.model == ModelSettings("anthropic", "claude-sonnet-5-5")
    entry = settings.models["my-local"]
    assert (entry.provider, entry.window, entry.max_output) == ("compatible", 32768, 4096)
    assert (entry.price.input, entry.price.cache_write) == (0.0, None)
    assert entry.options == {"temperature": 0}
    assert settings.limits.max_turns == 25
    assert settings.permissions.allow == ("Bash(git status)",)
    assert settings.ui.theme == "light"
    assert loaded.sources["permissions.allow"] == str(paths.config_file)
    assert loaded.warnings == ()


def test_no_file_at_all_is_the_defaults(paths: Paths, project: Path) -> None:
    loaded = load_settings(project, {}, paths=paths)
    assert loaded.settings.model == ModelSettings()
    assert not loaded.sources


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[model]\n\nidd = 'x'\n", "3: model.idd is not a setting: did you mean id?"),
        ("[modell]\nid = 'x'\n", "1: modell is not a setting: did you mean model?"),
        ("[models.a]\nwindw = 1\n", "2: models.a.windw is not a setting: did you mean window?"),
        ("[ui]\nzzz = 1\n", "2: ui.zzz is not a setting: the keys here are theme, ascii"),
        ("[model]\nid = 5\n", "2: model.id must be text: put it between quotes"),
        ("[limits]\nmax_turns = '5'", "2: limits.max_turns must be a whole number, without quotes"),
        ("[limits]\nmax_turns = true", "2: limits.max_turns must be a whole number"),
        ("[limits]\n# no\nmax_turns = 0", "3: limits.max_turns must be 1 or more"),
        ("[ui]\nascii = 'yes'", "2: ui.ascii must be true or false, without quotes"),
        ("[ui]\ntheme = 'blue'", "2: ui.theme must be 'dark' or 'light'"),
        ("model = 'x'", "1: model must be a table with the keys provider, id, base_url, effort"),
        ("[models.a]\neffort = 'huge'", "2: models.a.effort must be 'none', 'minimal', 'low'"),
        ("[permissions]\ndeny = 'Bash'", "2: permissions.deny must be a list of texts"),
        ("[permissions]\ndeny = [\n 'a',\n 2]", "2: permissions.deny[1] must be text"),
        ("[model]\nid = 2020-01-01", "2: model.id is a date or a time"),
        ("[model]\nbase_url = 'localhost:80'", "2: model.base_url is not an address"),
        ("[models.'a.b']\nwindow = -1", '2: models."a.b".window must be 1 or more'),
        ("[models.a]\nprice = {input = nan}", "2: models.a.price.input must be a number"),
        ("[model]\nid = \n", "2:6: not valid TOML: invalid value: correct this line"),
        ("[model]\nid = 'x", "2:8: not valid TOML:"),
        (b"[model]\nid = '\xff'", "2: not UTF-8 text: save the file as UTF-8"),
        ("a" + ".a" * 50 + " = 1", " nested too deeply"),
        ("a = " + "[" * 5000, " nested too deeply"),
    ],
)
def test_a_problem_is_one_line_with_its_place(
    paths: Paths, project: Path, text: str | bytes, line: str
) -> None:
    assert the_line(paths, project, text).startswith(line)


def test_what_cannot_be_read_is_one_line_too(paths: Paths, project: Path) -> None:
    paths.config_file.mkdir()
    with pytest.raises(UserError, match=r"settings\.toml: is a folder"):
        load_settings(project, {}, paths=paths)
    paths.config_file.rmdir()
    os.mkfifo(paths.config_file)
    with pytest.raises(UserError, match="is not a regular file"):
        load_settings(project, {}, paths=paths)
    paths.config_file.unlink()
    paths.config_file.symlink_to(paths.config_file)
    with pytest.raises(UserError, match="cannot be read"):
        load_settings(project, {}, paths=paths)


def test_a_project_can_only_tighten(paths: Paths, project: Path) -> None:
    (project / ".tui-agent" / "settings.toml").write_text(
        '[model]\nbase_url = "http://evil.example"\n'
        '[permissions]\nallow = ["Bash"]\ndeny = ["Read(.env)"]\nunknown = 1\n'
    )
    (project / ".tui-agent" / "settings.local.toml").write_text('[permissions]\nask = ["Edit"]\n')
    loaded = load(paths, project, '[permissions]\ndeny = ["Bash(rm)"]\n')
    assert loaded.settings.permissions.allow == ()
    assert loaded.settings.permissions.deny == ("Bash(rm)", "Read(.env)")
    assert loaded.settings.permissions.ask == ("Edit",)
    assert loaded.settings.model == ModelSettings()
    shared = project / ".tui-agent" / "settings.toml"
    assert [warning.partition(" does not count")[0] for warning in loaded.warnings] == [
        f"{shared}:2: model.base_url",
        f"{shared}:4: permissions.allow",
        f"{shared}:6: permissions.unknown",
    ]


def test_a_project_whose_rules_cannot_be_read_does_not_open(paths: Paths, project: Path) -> None:
    file = project / ".tui-agent" / "settings.toml"
    file.write_text("[permissions]\ndeny = 'Bash'\n")
    with pytest.raises(UserError) as caught:
        load_settings(project, {}, paths=paths)
    assert str(caught.value).startswith(f"{file}:2: permissions.deny must be a list")


def test_a_project_cannot_flood_the_person_with_warnings(paths: Paths, project: Path) -> None:
    lines = "".join(f"k{number} = {number}\n" for number in range(20_000))
    (project / ".tui-agent" / "settings.toml").write_text(lines)
    loaded = load_settings(project, {}, paths=paths)
    assert len(loaded.warnings) == 6
    assert "19995 more" in loaded.warnings[-1]


def test_work_in_the_folder_of_our_own_settings_takes_them_once(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    home = folder / ".tui-agent"
    home.mkdir(parents=True)
    (home / "settings.toml").write_text('[permissions]\ndeny = ["Bash"]\nallow = ["Edit"]\n')
    loaded = load_settings(folder, {"TUI_AGENT_HOME": str(home)})
    assert loaded.settings.permissions.deny == ("Bash",)
    assert loaded.settings.permissions.allow == ("Edit",)
    assert not loaded.warnings


MINE = """
[model]
provider = "anthropic"
id = "c"
base_url = "https://proxy.example"
[models.mine]
base_url = "http://127.0.0.1:1/v1"
"""
URL = "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("environ", "flags", "expected"),
    [
        ({}, {}, ("anthropic", "c", "https://proxy.example")),
        ({"MODEL": "d"}, {}, ("anthropic", "d", "https://proxy.example")),
        ({"MODEL": "d"}, {"model": "e"}, ("anthropic", "e", "https://proxy.example")),
        # another provider inherits neither the model nor the address
        ({"PROVIDER": "demo"}, {}, ("demo", None, None)),
        ({"PROVIDER": "openai", "MODEL": "d"}, {"provider": "demo"}, ("demo", None, None)),
        ({"PROVIDER": "anthropic"}, {}, ("anthropic", "c", "https://proxy.example")),
        # an address without a provider is a compatible server, whatever the file says
        ({}, {"base_url": URL}, ("compatible", None, URL)),
        ({"BASE_URL": URL, "MODEL": "d"}, {}, ("compatible", "d", URL)),
        ({"PROVIDER": "anthropic"}, {"base_url": URL}, ("anthropic", "c", URL)),
        ({"BASE_URL": URL}, {"provider": "openai"}, ("openai", None, URL)),
        # a model described in the file brings its address along
        ({}, {"model": "mine"}, ("compatible", "mine", "http://127.0.0.1:1/v1")),
        ({"PROVIDER": "demo"}, {"model": "mine"}, ("demo", "mine", None)),
    ],
)
def test_flags_before_environment_before_file(
    paths: Paths,
    project: Path,
    environ: dict[str, str],
    flags: dict[str, str],
    expected: tuple[str | None, ...],
) -> None:
    variables = {f"TUI_AGENT_{name}": value for name, value in environ.items()}
    loaded = load(paths, project, MINE, variables, Overrides(**flags))
    model = loaded.settings.model
    assert (model.provider, model.id, model.base_url) == expected


def test_the_origin_of_a_value_is_kept(paths: Paths, project: Path) -> None:
    environ = {"TUI_AGENT_MODEL": "d"}
    loaded = load(paths, project, MINE, environ, Overrides(base_url=URL, provider="anthropic"))
    assert loaded.sources["model.provider"] == "--provider"
    assert loaded.sources["model.id"] == "TUI_AGENT_MODEL"
    assert loaded.sources["model.base_url"] == "--base-url"


def test_the_level_of_thinking_stays_whatever_model_is_chosen(paths: Paths, project: Path) -> None:
    text = '[model]\nprovider = "glm"\nid = "x"\neffort = "low"\n'
    chosen = load(paths, project, text, overrides=Overrides(provider="kimi")).settings.model
    assert chosen == ModelSettings("kimi", effort="low")
    assert load(paths, project, text).settings.model.effort == "low"


def test_the_levels_of_thinking_are_those_of_the_models() -> None:
    assert get_args(Effort) == EFFORTS


def test_a_bad_address_names_what_gave_it(paths: Paths, project: Path) -> None:
    with pytest.raises(UsageError, match=r"^TUI_AGENT_BASE_URL: 'nowhere' is not an address"):
        load(paths, project, "", {"TUI_AGENT_BASE_URL": "nowhere"})
    with pytest.raises(UsageError, match=r"^--base-url: 'ftp://x' is not an address"):
        load(paths, project, "", {}, Overrides(base_url="ftp://x"))


def test_a_start_without_a_settings_file_does_not_load_pydantic(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from tui_agent.settings import load_settings\n"
        "load_settings(Path.cwd(), os.environ)\n"
        "print('pydantic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("[limits]\nmax_turns = " + "9" * 5_000, ":2: ", "thousands of digits"),
        ("[limits]\nmax_turns = 0x" + "f" * 5_000, ":2: limits.max_turns", "too large"),
        ("[limits]\nmax_turns = " + "9" * 30, ":2: limits.max_turns", "too large"),
        ("[models.m.options]\n\ntemperature = nan", ":3: models.m.options.temperature", "finite"),
        ("[models.m.price]\ninput = inf", ":2: models.m.price.input", "finite"),
    ],
    ids=["digits", "hexadecimal", "large", "nan", "inf"],
)
def test_a_number_that_is_none_is_one_line_with_its_place(
    paths: Paths, project: Path, text: str, where: str, words: str
) -> None:
    with pytest.raises(UserError) as caught:
        load(paths, project, text)
    line = str(caught.value)
    assert line.startswith(f"{paths.config_file}{where}")
    assert words in line
    assert len(line) < 400


def test_what_is_broken_can_be_told_and_left_out(paths: Paths, project: Path) -> None:
    told: list[str] = []
    paths.config_file.write_text("[model\n")
    (project / ".tui-agent" / "settings.toml").write_text('[permissions]\ndeny = ["Bash"]\n')
    (project / ".tui-agent" / "settings.local.toml").write_text("x = \n")
    loaded = load_settings(
        project,
        {"TUI_AGENT_BASE_URL": "nowhere"},
        paths=paths,
        tell=lambda error: told.append(str(error)),
    )
    assert loaded.settings.permissions.deny == ("Bash",)
    assert loaded.settings.model == ModelSettings()
    assert [line.partition(":")[0].rpartition("/")[2] for line in told] == [
        "settings.toml",
        "settings.local.toml",
        "TUI_AGENT_BASE_URL",
    ]
