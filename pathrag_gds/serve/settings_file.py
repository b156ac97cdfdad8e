"""Write presets into ``pathrag.toml``, and leave everything else in it as it stands."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pathrag_gds.config import DEFAULT_PRESET, PRESETS, SearchConfig
from pathrag_gds.errors import ConfigError
from pathrag_gds.serve.command import write_output

__all__ = ["preset_table", "show_presets", "write_presets"]


def preset_table(
    name: str, config: SearchConfig, varied: Collection[str], there: Collection[str] = ()
) -> dict[str, Any]:
    """Give what ``[presets.NAME]`` has to say so that searches run as a configuration does.

    Args:
        varied: Fields that the configuration decides, beside those in which the shipped preset of
            this name differs from the default one. The others are the user's.
        there: Fields that the table has already; those that are decided are said again.

    Returns:
        Values by field, in the order of the fields; none that the shipped preset has anyway.
    """
    default = PRESETS[DEFAULT_PRESET].to_dict()
    shipped = PRESETS.get(name, PRESETS[DEFAULT_PRESET]).to_dict()
    wanted = config.to_dict()
    decided = {*varied, *(field for field in default if shipped[field] != default[field])}
    return {
        item.name: wanted[item.name]
        for item in fields(SearchConfig)
        if item.name in decided and (wanted[item.name] != shipped[item.name] or item.name in there)
    }


def show_presets(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Write tables of presets as lines for ``pathrag.toml``; none gives an empty text."""
    import tomlkit

    return tomlkit.dumps({"presets": tables}).strip() if tables else ""


def write_presets(
    file: Path, configs: Mapping[str, SearchConfig], varied: Collection[str]
) -> dict[str, dict[str, Any]]:
    """Put presets into a settings file, which is made if need be; it changes whole or not at all.

    Comments, order, other settings and other keys of the same tables stay.

    Returns:
        What was written, by preset; see :func:`preset_table`.

    Raises:
        ConfigError: The file is no TOML, its presets are no tables, or it cannot be written.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        document = tomlkit.parse(text)
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error
    written: dict[str, dict[str, Any]] = {}
    for name, config in configs.items():
        presets = document.setdefault("presets", tomlkit.table(is_super_table=True))
        table = presets.setdefault(name, tomlkit.table()) if isinstance(presets, dict) else None
        if not isinstance(table, dict):
            raise ConfigError(
                f"{file}: presets are tables.", hint="Such as [presets.fast] and beam_width = 10."
            )
        written[name] = preset_table(name, config, varied, set(table))
        for field, value in written[name].items():
            table[field] = value
    write_output(file, tomlkit.dumps(document))
    return written
