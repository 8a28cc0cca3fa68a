"""The tables of gpudoctor/data: the same content from a checkout, which has TOML, as from a wheel, which has JSON."""

from __future__ import annotations

import pytest

from gpudoctor.model import package_data
from gpudoctor.model.package_data import COMPILED, compiled_table, data_table

NAME = "rocm-torch"


def test_dates_are_text() -> None:
    table = data_table(NAME)
    assert all(isinstance(row["date"], str) and len(row["date"]) == 10 for rows in table.values() if isinstance(rows, list) for row in rows)
    assert (
        compiled_table('[[row]]\ndate = 2026-11-23\nname = "\N{MICRO SIGN}s"\n')
        == '{"row":[{"date":"2026-11-23","name":"\N{MICRO SIGN}s"}]}'
    )


def test_a_wheel_reads_no_toml(monkeypatch: pytest.MonkeyPatch) -> None:
    expected, asked = data_table(NAME), []
    content = {f"{COMPILED}/{NAME}.json": compiled_table(package_data.data_text(f"{NAME}.toml"))}

    def only_compiled(name: str) -> str:
        asked.append(name)
        return content[name]

    monkeypatch.setattr(package_data, "data_text", only_compiled)
    assert data_table(NAME) == expected and asked == [f"{COMPILED}/{NAME}.json"]


def test_a_table_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(OSError, match="no-such-table"):
        data_table("no-such-table")
