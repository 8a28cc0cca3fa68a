"""Makes gpudoctor/data/secret-prefixes.txt from the rules of gitleaks: how the secrets of known services begin.

    build_secret_prefixes.py gitleaks.toml [-o FILE]

A rule that asks for a service's name beside an arbitrary string gives no beginning: such strings are found by the field they stand in.
"""

from __future__ import annotations

import argparse
import itertools
import pathlib
import re

import tomllib

HEAD = """# How secrets begin, by service. Made by docs/vocabulary/build_secret_prefixes.py from the rules of gitleaks
# (https://github.com/gitleaks/gitleaks, config/gitleaks.toml), Copyright (c) 2019 Zachary Rice, MIT License:
# Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files
# (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge,
# publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do
# so, subject to the following conditions: The above copyright notice and this permission notice shall be included in all copies or
# substantial portions of the Software. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED.
# Lines below '# ours' are services that those rules do not know.
"""
OURS = """
    hf_ nvapi- gsk_ r8_ rpa_ wandb_v1_ dapi dckr_pat_ dckr_oat_ sntrys_ sntryu_ lin_api_ ntn_ figd_ xkeysib- xsmtpsib- NRAK- NRII- NRJS-
    glc_ glsa_ eyJ ya29. AIza AKIA ASIA ABIA ACCA AROA AIDA ABSK IQoJb3JpZ2lu FwoGZXIvYXdz sk- sk_ rk_ pk_live_ pk_test_ sk-ant- sk-proj-
    sk-or- whsec_ sq0atp- sq0csp- EAAA shpat_ shpca_ shppa_ shpss_ tskey- pul- pscale_ dp.pt. dp.st. dp.ct. fm1_ fm2_ FlyV1 PMAK- rubygems_
    tfp_ HRKU- GOCSPX- hvs. hvb. hvr. tvly- pplx- xai- csk- fw_ jina_ pcsk_ key- SG. AGE-SECRET-KEY- cmVmdGtu AKCp sbp_ sbv_ vcp_ ops_eyJ
    npm_ pypi- ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glptt- glcbt- glsoat- glft- glimt- glagent- gloas- GR1348941 ATATT3
    ATBB ATCTT3 xoxb- xoxp- xoxa- xoxe- xoxr- xoxs- xapp- xoxe. dop_v1_ doo_v1_ dor_v1_ LTAI lip_ ak- as- api_org_ BBFF- b3BlbnNzaC1rZXktdjE
    $2a$ $2b$ $2y$ $1$ $5$ $6$ $y$ $argon2 {SSHA}
""".split()
_TOO_COMMON = frozenset({"curl", "http", "https:", "sha256", "API-", "-----BEGIN", "4b1d", "ext_", "v1.0-", "pat.", "sat."})
_SERVICE_BESIDE = re.compile(r"\(\?i\)\[\\w\.-\]|\[\\w\.-\]\{0,50\}")


def beginnings(regex: str) -> set[str]:
    """The literal texts that a match of the rule may begin with: of plain letters and of choices of them."""
    if _SERVICE_BESIDE.match(regex):
        return set()
    regex = re.sub(r"^(?:\\b|\(\?:\^\|[^)]*\)|\(\?i\)|\((?!\?)|\(\?i:)+", "", regex)
    found = [""]
    while regex:
        choice = re.match(r"\(\?:([\w|:.\\-]+)\)(?![?*{])", regex)
        literal = re.match(r"((?:[A-Za-z0-9_:-]|\\[.\-_$])+)(?![?*{])", regex)
        if choice:
            options = [re.sub(r"\\(.)", r"\1", option) for option in choice[1].split("|")]
            found = [begin + option for begin, option in itertools.product(found, options)]
            regex = regex[choice.end() :]
        elif literal:
            plain = re.sub(r"\\(.)", r"\1", literal[1])
            if re.match(r"[?*{]", regex[literal.end() :]):
                plain = plain[:-1]
            found = [begin + plain for begin in found]
            regex = regex[literal.end() :]
            if re.match(r"[?*{]", regex):
                break
        else:
            break
    return {each for each in found if len(each) >= 4 and each not in _TOO_COMMON}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", type=pathlib.Path)
    default = pathlib.Path(__file__).parents[2] / "gpudoctor/data/secret-prefixes.txt"
    parser.add_argument("-o", "--output", type=pathlib.Path, default=default)
    given = parser.parse_args()
    rules = tomllib.loads(given.rules.read_text(encoding="utf-8"))["rules"]
    known = set().union(*(beginnings(rule.get("regex", "")) for rule in rules))
    ours = sorted(set(OURS) - known)
    given.output.write_text(HEAD + "\n".join(sorted(known)) + "\n# ours\n" + "\n".join(ours) + "\n", encoding="ascii")


main()
