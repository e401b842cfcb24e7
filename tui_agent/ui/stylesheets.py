"""Where the stylesheets lie: beside the package in a checkout, inside it when installed."""

from __future__ import annotations

from pathlib import Path

SHEETS = ("app.tcss", "panes.tcss", "dialogs.tcss")


def styles_dir() -> Path:
    """The folder of the stylesheets. A checkout wins over an installed copy."""
    package = Path(__file__).resolve().parent.parent
    checkout = package.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / "styles").is_dir():
        return checkout / "styles"
    return package / "styles"


def stylesheets() -> list[Path]:
    """Every stylesheet, in the order in which they are read."""
    folder = styles_dir()
    return [folder / name for name in SHEETS]
