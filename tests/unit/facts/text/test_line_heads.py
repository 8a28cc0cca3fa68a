"""Which program speaks in a line."""

from __future__ import annotations

import pytest

from gpudoctor.facts.text.line_heads import other_program


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("ceph-osd", "Nov 23 10:00:01 node7 ceph-osd[2411]: bluestore: out of memory, cannot allocate a device buffer"),
        ("postgres", "2026-11-20 08:12:33.120 UTC [811] app@orders ERROR:  out of memory"),
        ("postgres", "postgres: ERROR: out of memory"),
        ("gnome-shell", "2026-11-20T08:12:33+01:00 desk gnome-shell[2211]: segmentation fault"),
        ("mysql", "mysql.exe: ERROR 1045 (28000): Access denied"),
        ("alsa lib", "ALSA lib pcm.c:2660:(open) device not found"),
        ("(ee)", "[    31.220] (EE) no screens found"),
        ("sqlalchemy.pool", "ERROR:sqlalchemy.pool:connection timed out"),
        ("sqlalchemy.engine", "2026-01-01 10:00:00,123 - sqlalchemy.engine - ERROR - timeout"),
        ("psycopg2.operationalerror", "psycopg2.OperationalError: out of memory"),
        ("org.apache.kafka.clients", "ERROR [main] org.apache.kafka.clients: Timeout"),
        ("", "Nov 23 10:00:00 desk kernel: out of memory"),
        ("", "Nov 23 10:00:00 desk ollama[12]: out of memory"),
        ("", "python3: can't open file 'train.py': No such file or directory"),
        ("", "RuntimeError: out of memory"),
        ("", "error: out of memory"),
        ("", "2026-01-01 10:00:00,123 - trainer.loop - ERROR - timeout"),
    ],
)
def test_the_program_at_the_head_of_a_line(program: str, line: str) -> None:
    assert other_program(line) == program
