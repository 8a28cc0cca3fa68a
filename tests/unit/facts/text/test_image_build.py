"""The log of an image build is known by its lines, and not where a container runs as well."""

from __future__ import annotations

import pytest
from pasted_text import read

BUILDS = (
    "#6 [2/5] RUN ./configure\n#6 1.203 checking for gcc... gcc",
    " => ERROR [app 3/7] RUN pip install .                       2.1s",
    "Step 3/8 : RUN ./configure\n ---> Running in 1f00ac",
    "STEP 2/4: RUN dnf install gcc",
    "The command '/bin/sh -c make all' returned a non-zero code: 2",
    'failed to solve: process "/bin/sh -c make all" did not complete successfully: exit code: 2',
    'failed to solve: process "/bin/bash -o pipefail -c make all" did not complete successfully: exit code: 2',
    "user@host:~$ sudo docker buildx build -t mine .",
    "$ docker compose build",
)
OTHERS = (
    "# 6 files were changed\nStep 3/8 loss 0.7",
    "#1234 [feature] RUN tests on every push",
    "# 14 more lines\n#1234 [bug] 2 of 3 fail",
    "cmake --build build\npython -m build",
    "$ docker build -t mine .\n$ docker run --rm mine nvidia-smi",
    "the docker build works; what fails is the model",
)


@pytest.mark.parametrize("text", BUILDS)
def test_the_log_of_a_build_is_known(text: str) -> None:
    assert read(text).value("text.image_build") is True


@pytest.mark.parametrize("text", OTHERS)
def test_other_texts_are_no_build(text: str) -> None:
    assert read(text).value("text.image_build") is not True
