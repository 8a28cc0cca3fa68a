"""What each line of a pasted text is: a failure, a complaint, a log line, a row of a listing, code, a command, advice or other prose.

The role of a line follows from its shape, its neighbours (fences, tracebacks, diffs, the command before it) and its polarity. A role is
worked out when it is asked for: most lines never are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from gpudoctor.facts.text import counted, ended, on_purpose, went_on, wishes
from gpudoctor.facts.text import line_shapes as shapes
from gpudoctor.facts.text.announced import is_announced
from gpudoctor.facts.text.named_codes import names_codes
from gpudoctor.facts.text.others_words import messages_of_commits
from gpudoctor.facts.text.polarity import FINE, HYPOTHETICAL, NEUTRAL, TROUBLE, polarity
from gpudoctor.facts.text.quoted import is_only_quoted
from gpudoctor.facts.text.runs_of_tests import passed_runs
from gpudoctor.facts.text.sections import typed_in
from gpudoctor.facts.text.settled import is_settled
from gpudoctor.facts.text.went_on import Continuations
from gpudoctor.model.signature import ADVICE, CODE, COMMAND, COMPLAINT, FAILURE, LISTING, LOG, PROSE, SETTLED, Numbered
from gpudoctor.model.signature import TROUBLE as TROUBLE_ROLES

LONGEST = 2_000
"""Letters of a line that its shape is read from."""
_ADDED = 3
"""Lines that begin with '+' and make a patch without a head."""
_FIELDS = 3
"""Semicolons from which on a line can be a row of a table."""
_REACH = 60
"""Lines above that are looked at for the head of a diff or the command whose output a line is."""


class Roles:
    """Gives the role of a line by its place: `Roles(lines)(row)`."""

    def __init__(self, lines: Sequence[Numbered]) -> None:
        self._lines = [line if len(line.text) <= LONGEST else Numbered(line.number, line.text[:LONGEST]) for line in lines]
        self._known: dict[int, str] = {}
        self._fences: list[int] | None = None
        self._languages: list[str] = []
        self._diffs: list[int] = []
        self._first: int | None = None
        self._over: bool | None = None
        self._quoting: str | None = None
        self._denied: frozenset[int] | None = None
        self._passed: frozenset[int] | None = None
        self._continued: Continuations | None = None
        self._on_purpose: bool | None = None
        self._complained: bool | None = None

    def __call__(self, row: int) -> str:
        if row not in self._known:
            role = self._role(row)
            if self._is_overcome(row, role):
                role = SETTLED
            elif role in TROUBLE_ROLES and row != self._first_row() and is_only_quoted(self._lines[row].text):
                role = ADVICE
            self._known[row] = role
        return self._known[row]

    def _role(self, row: int) -> str:
        text = self._lines[row].text
        stripped = text.strip()
        if not stripped:
            return LOG
        fenced = self._fence(row)
        if self._in_diff(row, text) or shapes.SEARCH.match(self._command_above(row)):
            return CODE
        found = shapes.IN_A_FILE.match(text)
        if shapes.LINTED.match(stripped) or shapes.TESTS_FOR_WORDS.match(stripped) or (found and shapes.CODE.match(text[found.end() :])):
            return CODE
        if self._of_a_table(row, text):
            return LISTING
        if names_codes(self._lines, row):
            return CODE
        if self._of_a_run_that_passed(row) or counted.is_at_zero(stripped):
            return SETTLED
        if shapes.TESTED.search(stripped):
            return LOG
        if self._of_the_whole() and not shapes.AT_THE_MARGIN.match(text):
            return self._of_the_whole()
        if _looks_for_words(typed_in(text)):
            return COMMAND
        if (
            shapes.REMARKED_AS_SOLVED.search(stripped)
            or is_settled(stripped)
            or shapes.TICKED.match(text)
            or shapes.SETTLED_ROW.match(text)
        ):
            return SETTLED
        if stripped[0] in "|│" and self._explains_messages(row):
            return ADVICE
        if shapes.COMMITTED.match(stripped) or shapes.SEVERAL_CODES.search(stripped) or self._guides(row, stripped, fenced):
            return ADVICE
        if self._asks(row, text, stripped) or self._is_an_example(row, text, fenced):
            return ADVICE
        if _is_reported(text, stripped) or (text[:2] == "  " and self._in_a_cmake_block(row)):
            return FAILURE
        return self._unreported(row, text, stripped, fenced)

    def _unreported(self, row: int, text: str, stripped: str, fenced: str | None) -> str:
        """The role of a line that does not begin as a failure does."""
        if _is_command(text):
            return FAILURE if _is_answered(text) else COMMAND
        if shapes.FRAME.match(text) or self._under_a_frame(row, text):
            return CODE
        if shapes.GOOD_LEVEL.search(text[:200]):
            return LOG
        if shapes.STAMPED.match(text):
            return _of_program(stripped)
        if self._is_title(row, stripped):
            return COMPLAINT if _is_a_subject(stripped[2:]) else _of_person(stripped[2:])
        if fenced in shapes.CODE_FENCES or shapes.CODE.match(text) or (stripped.startswith("# ") and self._beside_code(row)):
            return CODE
        if _is_listed(text):
            return LISTING if shapes.CELL_OF_TROUBLE.search(text) is None or polarity(stripped, prose=False) != TROUBLE else FAILURE
        if shapes.SETTING.match(text):
            return CODE if polarity(stripped, prose=False) != TROUBLE or fenced is not None else FAILURE
        return self._words(row, stripped, fenced)

    def _guides(self, row: int, stripped: str, fenced: str | None) -> bool:
        """Whether a sentence is about a message that may appear. Output of programs, and persons about themselves, use the same words."""
        if fenced is not None or shapes.GUIDING.match(stripped) is None or shapes.SPEAKS_OF_ONESELF.search(stripped):
            return False
        return self._command_above(row) == ""

    def _asks(self, row: int, text: str, stripped: str) -> bool:
        """Whether a wish, or a heading that asks for a meaning, quotes the message that the line holds."""
        if shapes.EXCEPTION.match(stripped):
            return False
        if shapes.WISH.search(stripped):
            return True
        asking = shapes.ASKING_HEADING.match(text) is not None and shapes.SPEAKS_OF_ONESELF.search(stripped) is None
        return asking and (row != self._first_row() or shapes.QUOTES.search(stripped) is not None)

    def _is_an_example(self, row: int, text: str, fenced: str | None) -> bool:
        """Whether the line stands in a block of its own below 'If you see the message'."""
        if fenced is None and text[:4] != "    " and text[:1] != "\t":
            return False
        for near in range(row - 1, max(-1, row - _REACH), -1):
            above = self._lines[near].text
            if above.strip() and above[:4] != "    " and above[:1] != "\t" and (fenced is None or self._fence(near) is None):
                leads = shapes.LEADS_TO_AN_EXAMPLE.match(above) or shapes.EXPLAINS_AN_EXAMPLE.match(above)
                return leads is not None and shapes.SPEAKS_OF_ONESELF.search(above) is None
        return False

    def _explains_messages(self, row: int) -> bool:
        """Whether the row belongs to a table whose head names a column of causes or remedies."""
        head = row
        while head > 0 and row - head < _REACH and self._lines[head - 1].text.lstrip()[:1] in ("|", "│"):
            head -= 1
        return head < row and shapes.HEAD_OF_EXPLANATIONS.match(self._lines[head].text) is not None

    def _of_a_run_that_passed(self, row: int) -> bool:
        """Whether the line belongs to a run of tests that all passed: a test provoked the messages in it."""
        if self._passed is None:
            self._passed = passed_runs(self._lines)
        return row in self._passed

    def _of_a_table(self, row: int, text: str) -> bool:
        """Whether the line is a row of values between semicolons, next to a line with the same number of them."""
        fields = text.count(";")
        if fields < _FIELDS:
            return False
        return any(self._lines[near].text.count(";") == fields for near in (row - 1, row + 1) if 0 <= near < len(self._lines))

    def _is_title(self, row: int, stripped: str) -> bool:
        """Whether the line is the '# title' of a report in Markdown. Above a setting or code it would be a comment."""
        if row != self._first_row() or not stripped.startswith("# ") or row + 1 >= len(self._lines):
            return False
        below = next((line.text for line in self._lines[row + 1 :] if line.text.strip()), "#")
        return shapes.CODE.match(below) is None and (shapes.SETTING.match(below) is None or below.startswith("## ")) and not typed_in(below)

    def _words(self, row: int, stripped: str, fenced: str | None) -> str:
        """The role of words without any mark, of a person or of a program."""
        if shapes.REQUEST.search(stripped) and shapes.STAMPED.match(stripped) is None:
            return ADVICE
        in_output = fenced is not None or self._command_above(row) != "" or is_announced(self._lines, row)
        role = _of_person(stripped) if _is_prose(stripped, in_output) else _of_program(stripped)
        return COMPLAINT if role in (PROSE, LOG) and row == self._first_row() and _is_a_subject(stripped) else role

    def is_over(self) -> bool:
        """Whether the text itself says that its trouble is over."""
        if self._over is None:
            self._over = ended.is_over(self._lines, self._first_row(), self._fails) or wishes.is_a_wish(self._lines)
        return self._over

    def _fails(self, row: int) -> bool:
        return self._role(row) == FAILURE

    def _is_overcome(self, row: int, role: str) -> bool:
        """Whether other lines show that the trouble of this one is over, somebody else's, wanted, or did not stop the program."""
        if role in (*TROUBLE_ROLES, LOG, LISTING, PROSE) and (self.is_over() or self._concerns_nobody(row)):
            return True
        if role != ADVICE and self._is_wanted(row):
            return True
        return role in (FAILURE, COMPLAINT, LOG) and self._went_on(row, role)

    def _is_wanted(self, row: int) -> bool:
        """Whether the line says that no GPU is used, and the text wants that."""
        if self._on_purpose is None:
            self._on_purpose = on_purpose.wants_the_processor(self._lines)
        return self._on_purpose and on_purpose.speaks_of_a_gpu(self._lines[row].text)

    def _went_on(self, row: int, role: str) -> bool:
        """Whether the program went on after the line's trouble and nobody complains. A title counts by the trouble below it."""
        text = self._lines[row].text
        if role == COMPLAINT:
            below = [self(near) for near in range(row + 1, min(len(self._lines), row + _REACH // 2)) if self._lines[near].text.strip()]
            subject = row == self._first_row() and polarity(text) != TROUBLE
            return went_on.ends_well(text) or (subject and SETTLED in below and not set(below) & set(TROUBLE_ROLES))
        if self._continued is None:
            self._continued = Continuations(self._lines)
        if role == LOG:
            settles = self._continued.is_used_later(row) or shapes.TESTED.search(text.strip())
            return bool(settles) and not self._somebody_complains()
        return self._continued(row, self._fails, self._somebody_complains) or went_on.names_a_way_around(text)

    def _somebody_complains(self) -> bool:
        """Whether a person reports a trouble or asks something."""
        if self._complained is None:
            rows = range(min(len(self._lines), _REACH * 8))
            self._complained = any(self._lines[row].text.strip() and self._asked_or_complained(row) for row in rows)
        return self._complained

    def _asked_or_complained(self, row: int) -> bool:
        text = self._lines[row].text.rstrip()
        role = self._role(row)
        return (role == COMPLAINT and polarity(text) == TROUBLE) or (text.endswith("?") and role in (COMPLAINT, ADVICE, PROSE))

    def _concerns_nobody(self, row: int) -> bool:
        """Whether the line is a quote that the answer below it denies, that answer, or of a commit's message."""
        if self._denied is None:
            self._denied = ended.denied(self._lines, lambda row: self._role(row) in TROUBLE_ROLES) | messages_of_commits(self._lines)
        return row in self._denied

    def _first_row(self) -> int:
        if self._first is None:
            self._first = next((row for row, line in enumerate(self._lines) if line.text.strip()), 0)
        return self._first

    def _fence(self, row: int) -> str | None:
        """The language of the fence in which the line stands: '' where it names none, None outside."""
        if self._fences is None:
            self._fences = []
            for place, line in enumerate(self._lines):
                mark = line.text.lstrip()[:3]
                if mark in ("```", "~~~"):
                    self._fences.append(place)
                    self._languages.append(line.text.strip().strip("`~").strip().lower().split(" ")[0])
                elif shapes.DIFF.match(line.text):
                    self._diffs.append(place)
        before = bisect_right(self._fences, row)
        return self._languages[before - 1] if before % 2 else None

    def _in_diff(self, row: int, text: str) -> bool:
        """Whether the line stands in a patch: below its head, or among others that are added as it is."""
        if text[:1] not in ("+", "-", " ", "@"):
            return False
        before = bisect_right(self._diffs, row)
        if before and row - self._diffs[before - 1] <= _REACH:
            rows = range(self._diffs[before - 1], row)
            if all(shapes.OF_A_PATCH.match(self._lines[near].text) for near in rows):
                return True
        if shapes.CHANGED.match(text) and shapes.CODE.match(text[1:]):
            return True
        return text[0] == "+" and text[:2] != "+-" and self._added(row) >= _ADDED

    def _added(self, row: int) -> int:
        """How many consecutive lines begin with '+', this one included. The frame of a table does not count."""
        first = last = row
        while first > 0 and row - first < _ADDED and _is_added(self._lines[first - 1].text):
            first -= 1
        while last + 1 < len(self._lines) and last - row < _ADDED and _is_added(self._lines[last + 1].text):
            last += 1
        return last - first + 1

    def _in_a_cmake_block(self, row: int) -> bool:
        """Whether only empty lines and lines with more indentation stand between this one and a 'CMake Error at …:' shortly above."""
        least = _indentation(self._lines[row].text)
        for near in range(row - 1, max(-1, row - 25), -1):
            above = self._lines[near].text
            depth = _indentation(above)
            if above.strip() and depth < least:
                if shapes.CMAKE.match(above) is not None or depth == 0:
                    return shapes.CMAKE.match(above) is not None
                least = depth
        return False

    def _under_a_frame(self, row: int, text: str) -> bool:
        """Whether the line is the source that a traceback shows below a frame."""
        return row > 0 and text[:2] == "  " and self._lines[row - 1].text.lstrip().startswith('File "')

    def _of_the_whole(self) -> str:
        """The role of every line of a text that only quotes messages: notes, a manual, source code; empty for a report."""
        if self._quoting is None:
            self._quoting = ""
            if len(self._lines) >= shapes.SHORTEST_DOCUMENT:
                from gpudoctor.facts.text import document  # imported late: its expressions serve longer texts alone

                self._quoting = document.ROLES.get(document.kind_of(self._lines), "")
        return self._quoting

    def _beside_code(self, row: int) -> bool:
        """Whether the line above or below is a line of code or a command: '# …' is then a comment, no heading."""
        near = (self._lines[place].text for place in (row - 1, row + 1) if 0 <= place < len(self._lines))
        return any(shapes.CODE.match(text) is not None or typed_in(text) != "" for text in near)

    def _command_above(self, row: int) -> str:
        """The command, or the head of a traceback, whose output the line is: it stands shortly above without an empty line between."""
        for near in range(row - 1, max(-1, row - 25), -1):
            above = self._lines[near].text
            if not above.strip():
                return ""
            if (typed := typed_in(above)) or above.startswith(("Traceback", ">>>", "  File")):
                return typed or above
        return ""


def _indentation(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _is_added(text: str) -> bool:
    return text[:1] == "+" and text[:2] != "+-"


def _is_reported(text: str, stripped: str) -> bool:
    """Whether a line is a failure by its form: an exception, a bad level, or 'error:' ahead of anything but a good end."""
    if shapes.EXCEPTION.match(stripped) or shapes.UNMARKED.match(stripped):
        return True
    if shapes.BAD_LEVEL.search(text[:240]) and not (text.startswith((" ", "\t")) and shapes.CODE.match(text)):
        return True
    return shapes.ERROR_AHEAD.match(stripped) is not None and polarity(stripped, prose=False) != FINE


def _is_command(text: str) -> bool:
    """Whether the line is a prompt with a command, or the call of a tool. A sentence that begins with a tool's name is neither."""
    typed = typed_in(text)
    if not typed:
        return False
    plain = sum(word.isalpha() and word.islower() for word in typed.split()[1:])
    return typed != text.strip() or not (plain > 3 or shapes.PROSE.search(typed) or polarity(typed) == TROUBLE)


def _is_answered(text: str) -> bool:
    """Whether the command's output stands in the same line: 'PS C:\\run> tool.exe ERROR: …'."""
    return shapes.TYPED_AND_ANSWERED.search(typed_in(text)) is not None


def _looks_for_words(typed: str) -> bool:
    """Whether the command searches for words or prints them: its line may hold a message that it did not cause."""
    return shapes.SEARCH.match(typed) is not None or typed.startswith(("echo ", "grep ", "findstr ", "Select-String ", "print"))


def _is_listed(text: str) -> bool:
    """Whether the line is a row of a listing. 'sampler 2.1 hangs half-way' looks like a package and its version, and is a sentence."""
    if shapes.KEYED.match(text):
        return True
    if not shapes.LISTED.match(text):
        return False
    versioned = shapes.WITH_ITS_VERSION.match(text)
    return versioned is None or polarity(versioned["rest"]) != TROUBLE


def _of_program(text: str) -> str:
    return FAILURE if polarity(text, prose=False) == TROUBLE else LOG


def _is_prose(text: str, in_output: bool) -> bool:
    if shapes.TITLE.match(text):
        return True
    words = len(text.split())
    spoken = len(set(map(str.lower, shapes.PROSE.findall(text))))
    if in_output and shapes.ONE_PERSON.search(text) and spoken >= 2 and words >= 5:
        return not shapes.PROGRAM.search(text)
    if in_output:
        return spoken >= 4 and words >= 8 and not shapes.PROGRAM.search(text[:60])
    if shapes.PROGRAM.search(text[:80]) and spoken < 2:
        return False
    return spoken >= 1 or words >= 3 or text.endswith(("?", "."))


def _is_a_subject(text: str) -> bool:
    """Whether a first line may be the title of a report: it states a subject, and asks nothing."""
    return polarity(text) == NEUTRAL and not shapes.ASKING.search(text)


def _of_person(text: str) -> str:
    mood = polarity(text)
    if mood == HYPOTHETICAL:
        return ADVICE
    if mood == TROUBLE:
        return ADVICE if shapes.ADVICE.search(text) and not re.search(r"\bI\b|\bmy\b|\?\s*$", text) else COMPLAINT
    return PROSE
