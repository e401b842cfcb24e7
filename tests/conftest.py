"""What holds for every test: no home, no keys, no colours of the machine it runs on.

Comes first: the environment that Textual and Rich read when they are imported is fixed here, before
the snapshot plugin brings them in. Then the isolation of every single test, the place of the
reference screens, and the profiles of Hypothesis.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

# Both change the drawn picture and both are read when Textual is imported.
for _name in ("NO_COLOR", "TEXTUAL_THEME"):
    os.environ.pop(_name, None)
os.environ["TEXTUAL_ANIMATIONS"] = "none"

# A background job, or one under nohup, has these ignored, and every child would inherit that.
for _number, _usual in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGQUIT, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)

# Loaded from here and not by its entry point, so that the lines above come before it.
pytest_plugins = ["pytest_textual_snapshot"]

# Keys and addresses would reach a real model; a proxy would stand before the servers of the tests.
_FOREIGN_VARIABLE_ENDINGS = ("_API_KEY", "_BASE_URL", "_AUTH_TOKEN", "_PROXY", "_proxy")
_FOREIGN_VARIABLES = (
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR_FORCE",
    "TEXTUAL",
    "TEXTUAL_THEME",
    "EDITOR",
    "VISUAL",
    "PAGER",
)
# Where the tests themselves are told to look; everything else of ours is taken away.
_KEPT_VARIABLES = frozenset({"TUI_AGENT_WIRE", "TUI_AGENT_CASES"})


@pytest.fixture(autouse=True)
def _isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives each test a home and a data folder of its own and takes every key away."""
    for name in list(os.environ):
        is_ours = name.startswith("TUI_AGENT_") and name not in _KEPT_VARIABLES
        if is_ours or name.endswith(_FOREIGN_VARIABLE_ENDINGS) or name in _FOREIGN_VARIABLES:
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TUI_AGENT_HOME", str(tmp_path / "tui-agent"))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    # A test that starts git sees neither the machine's settings nor a person's name.
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


@pytest.fixture(scope="session", autouse=True)
def _snapshots_at_top_level() -> Iterator[None]:
    """Reference screens live in `snapshots/`, mirroring `tests/`, not beside the tests.

    The plugin offers no option for it; its extension class decides the folder, so the one method
    that names it is replaced.
    """
    import pytest_textual_snapshot as plugin

    def dirname(cls: type, *, test_location: Any) -> str:
        test_file = Path(test_location.filepath).resolve()
        return str(ROOT / "snapshots" / test_file.relative_to(ROOT / "tests").with_suffix(""))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugin.SVGImageExtension, "dirname", classmethod(dirname))
        yield


# The same examples on every run: a red build means a changed program, not a new example.
settings.register_profile(
    "ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
