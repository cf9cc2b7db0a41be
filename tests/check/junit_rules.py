"""What Jenkins' schema for JUnit files (junit-10.xsd of its xUnit plugin) asks, as rules; GitLab and the common actions
of GitHub read the same elements."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree


@dataclass(frozen=True)
class Rule:
    """What one element may have.

    Attributes:
        required: attributes that it must have.
        optional: others that it may have.
        children: elements that may stand in it.
        text: whether text may.
    """

    required: frozenset[str]
    optional: frozenset[str] = frozenset()
    children: frozenset[str] = frozenset()
    text: bool = False


def rule(required: str = "", optional: str = "", children: str = "", *, text: bool = False) -> Rule:
    return Rule(frozenset(required.split()), frozenset(optional.split()), frozenset(children.split()), text)


RULES = {
    "testsuites": rule("", "name time tests failures errors", "testsuite"),
    "testsuite": rule(
        "name tests failures errors",
        "group time skipped timestamp hostname id package file log url",
        "testsuite properties testcase system-out system-err",
    ),
    "testcase": rule("name", "time classname group", "skipped error failure system-out system-err"),
    "properties": rule(children="property"),
    "property": rule("name value"),
    "failure": rule("", "type message", text=True),
    "error": rule("", "type message", text=True),
    "skipped": rule("", "type message", text=True),
    "system-out": rule(text=True),
    "system-err": rule(text=True),
}
TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?")


def faults(text: str) -> list[str]:
    """Where a file departs from the rules."""
    root = ElementTree.fromstring(text)
    found = [] if root.tag in ("testsuites", "testsuite") else [f"the root is {root.tag}"]
    for element in root.iter():
        known = RULES.get(element.tag)
        if known is None:
            found.append(f"{element.tag} is unknown")
            continue
        given = set(element.attrib)
        found += [f"{element.tag} lacks {name}" for name in known.required - given]
        found += [f"{element.tag} has {name}" for name in given - known.required - known.optional]
        found += [f"{child.tag} stands in {element.tag}" for child in element if child.tag not in known.children]
        if not known.text and (element.text or "").strip():
            found.append(f"{element.tag} holds text")
        if not TIME.fullmatch(element.get("time", "0")):
            found.append(f"{element.tag} has the time {element.get('time')}")
    for suite in root.iter("testsuite"):
        found += _miscounted(suite)
    return found


def _miscounted(suite: ElementTree.Element) -> list[str]:
    cases = suite.findall("testcase")
    counts = {"tests": len(cases)}
    counts |= {
        name: sum(case.find(tag) is not None for case in cases)
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
    }
    return [
        f"{name} is {suite.get(name)}, not {count}" for name, count in counts.items() if suite.get(name) != str(count)
    ]
