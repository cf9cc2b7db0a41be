"""A check as JUnit's XML, as Jenkins, GitLab and GitHub's actions read it: a test for each part, and for each image
of a suite that regresses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from diffgan.check.outcomes import Outcome
from diffgan.check.policy import fails_in_suite
from diffgan.images import hex_id

if TYPE_CHECKING:
    from diffgan.check.result import Part, Replayed, Result

#: Images of one suite that get a test of their own.
MOST_IMAGES = 100

_SUITE = "diffgan check"
#: What XML cannot hold, even escaped.
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(result: Result) -> str:
    """The file's text."""
    cases = [
        case
        for part, replayed in zip(result.parts, result.replayed, strict=False)
        for case in _of_suite(result, part, replayed)
    ]
    cases += [_case(part.name, part.failure, part.text) for part in result.parts[len(result.replayed) :]]
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": "0",
    }
    root = ElementTree.Element("testsuites", {"name": _SUITE, **counts})
    skipped = {"skipped": str(sum(case.find("skipped") is not None for case in cases))}
    suite = ElementTree.SubElement(root, "testsuite", {"name": _SUITE, **counts, **skipped})
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in _properties(result).items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": _clean(value)})
    suite.extend(cases)
    ElementTree.SubElement(suite, "system-out").text = _clean("\n".join([result.verdict, *result.notes]))
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _of_suite(result: Result, part: Part, replayed: Replayed) -> list[ElementTree.Element]:
    """The suite as a whole, then its regressions: those that are allowed are skipped."""
    failing = set(fails_in_suite(result.policy, replayed.answers))
    cases = [_case(part.name, part.failure, part.text)]
    for row in replayed.answers.rows(Outcome.REGRESSION)[:MOST_IMAGES].tolist():
        number = int(replayed.answers.ids[row])
        text = result.described(replayed.answers, row)
        case = _case(f"{part.name}: {hex_id(number)}", text if number in failing else None, text)
        if number not in failing:
            case.insert(0, ElementTree.Element("skipped", {"message": "allowed by --allow"}))
        cases.append(case)
    return cases


def _case(name: str, failure: str | None, text: str) -> ElementTree.Element:
    case = ElementTree.Element("testcase", {"classname": _SUITE, "name": _clean(name), "time": "0"})
    if failure is not None:
        element = ElementTree.SubElement(case, "failure", {"type": "regression", "message": _clean(failure)})
        element.text = _clean(text)
    ElementTree.SubElement(case, "system-out").text = _clean(text)
    return case


def _properties(result: Result) -> dict[str, str]:
    old, new = result.models
    generator = result.search["generator"]
    return {
        "old": f"{old.name} ({old.fingerprint})",
        "new": f"{new.name} ({new.fingerprint})",
        "data": f"{result.data.name} ({result.data.fingerprint})",
        "generator": "none" if generator is None else f"{generator['name']} ({generator['fingerprint']})",
        "seed": str(result.search["seed"]),
        "evaluations": str(result.search["evaluations"]),
    }


def _clean(text: str) -> str:
    return _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text)
