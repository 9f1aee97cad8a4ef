#!/usr/bin/env python3
"""Counts what makes comments, messages and documents hard to read at first sight.

    python3 tests/tidy/prose.py          prints the figures
    python3 tests/tidy/prose.py --lines  and each place behind them
    python3 tests/tidy/prose.py --check  only what is above its limit (MOST); ends with 1 if anything is

What is counted:
  who-lines        lines with who, whom or whose, in comments, in texts of the programs, and in documents
  openings         comments on lines of their own that begin without a subject: "Of the parts …", "Not who came last …"
  words            odd words, for which WORDS has a common one
  long sentences   of more than 30 words, in documents

Not counted: tables, code and headings of documents, and RESULTS.md and CHANGELOG.md.
"""
import argparse
import os
import re
import subprocess
import sys

import tidy

MOST_WORDS = 30  # longest allowed sentence
# How many places there may be. What is left is about people, or quotes other programs; tests/compat never changes.
MOST = {
    ("who-lines", "comments"): 35, ("who-lines", "messages"): 4, ("who-lines", "documents"): 6, ("who-lines", "tests"): 3,
    ("openings", "comments"): 5, ("openings", "tests"): 8,
    ("words", "comments"): 1, ("words", "messages"): 1, ("words", "documents"): 0, ("words", "tests"): 3,
    ("long sentences", "documents"): 20,
}

WHO = re.compile(r"\b(?:who|whom|whose|whoever)\b", re.I)
# A first sentence that begins with one of these has no subject …
PUZZLE = re.compile(r"(?:Of|Not|Only|Nor|But|Than|Who|Whom|Whose|What|Whether|Where|Which|How|Why)\b")
# … and one that begins with one of these has none if it lacks a comma and a verb.
ADVERB = re.compile(r"(?:As|At|Behind|Beside|Besides|By|For|From|In|On|To|Under|Until|Upon|With|Without|Maybe|Last|First)\b")
VERB = re.compile(r"\b(?:is|are|was|were|has|have|had|does|do|did|can|can't|may|must|will|would|should|needs?)\b")
WORDS = {
    r"mend(?:s|ed|ing)?": "fix", r"anew": "again", r"alike": "the same", r"but for": "except", r"farewells?": "last report",
    r"tells?": "reports, sends, says", r"told": "reported, sent", r"unheard": "silent", r"nobody": "no one, nothing",
    r"doorkeepers?": "acceptor", r"strangers?": "unknown client", r"mates?": "peer", r"guests?": "client",
    r"verdicts?": "decision, outcome", r"hubs?": "what it is", r"seats?": "place, rank", r"lest": "so that … not",
    r"upon": "on", r"whatever": "any", r"whoever": "the one that", r"in vain": "without effect", r"the like": "similar",
    r"ere": "before", r"hence": "so", r"thence": "from there", r"vouch\w*": "guarantee", r"dear": "expensive",
    r"by way of": "through", r"is at hand": "is there", r"bears?": "holds", r"lasting": "persistent",
}
WORD = re.compile(r"\b(?:" + "|".join(WORDS) + r")\b", re.I)
MADE = ("bench/RESULTS.md", "CHANGELOG.md")


def listed(*patterns):
    paths = subprocess.check_output(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
                                    cwd=tidy.ROOT, text=True).split()
    for path in paths:
        if os.path.isfile(os.path.join(tidy.ROOT, path)):
            with open(os.path.join(tidy.ROOT, path), encoding="utf-8") as file:
                yield path, file.read()


def comments(text):
    """(number of its first line, its lines, whether nothing else is on its lines) for each comment of a C++ or proto
    source."""
    block, begin = [], 0
    for number, line in enumerate(text.split("\n"), 1):
        whole = re.match(r"\s*//+ ?(.*)", line)
        trailing = None if whole else re.search(r'(?:^|[;{},)\s])\s*// ?(.*)', re.sub(r'"(?:[^"\\]|\\.)*"', '""', line))
        if whole:
            begin = begin if block else number
            block.append(whole.group(1))
            continue
        if block:
            yield begin, block, True
            block = []
        if trailing:
            yield number, [trailing.group(1)], False
    if block:
        yield begin, block, True


def texts_of(text):
    """(number, text) for each line of a source with a text of more than two words in it."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("//"):
            continue
        found = " … ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', line))
        if found.count(" ") >= 2:
            yield number, found


def prose(text):
    """(number of its first line, paragraph) for each paragraph of a document."""
    block, begin, in_code = [], 0, False
    for number, line in enumerate(text.split("\n") + [""], 1):
        if line.startswith("```"):
            in_code = not in_code
        is_prose = not (in_code or re.match(r"\s*$|#|\||    |```", line))
        if block and (not is_prose or re.match(r"\s*(?:[-*]|\d+\.) ", line)):
            yield begin, " ".join(block)
            block = []
        if is_prose:
            begin = begin if block else number
            block.append(line.strip())


def sentences(paragraph):
    return re.split(r"(?<=[.!?:;])\s+(?=[A-Z`\[*])", paragraph)


def begins_without_subject(comment):
    first = sentences(" ".join(line.strip() for line in comment))[0]
    if PUZZLE.match(first):
        return not first.endswith("?")
    return bool(ADVERB.match(first)) and "," not in first[:60] and not VERB.search(first)


def places():
    """(kind, path, line, text) for each place that counts."""
    for path, text in listed("*.h", "*.cc", "*.proto"):
        kind = "tests" if path.startswith(("tests/", "bench/")) else "comments"
        for begin, lines, has_own_lines in comments(text):
            for number, line in enumerate(lines, begin):
                if WHO.search(line):
                    yield "who-lines", kind, path, number, line
                if WORD.search(line):
                    yield "words", kind, path, number, line
            if has_own_lines and begins_without_subject(lines):
                yield "openings", kind, path, begin, lines[0]
        if kind == "comments" and not path.endswith(".proto"):
            for number, line in texts_of(text):
                if WHO.search(line):
                    yield "who-lines", "messages", path, number, line
                if WORD.search(line):
                    yield "words", "messages", path, number, line
    for path, text in listed("*.md"):
        if path in MADE:
            continue
        for begin, paragraph in prose(text):
            for sentence in sentences(paragraph):
                if WHO.search(sentence):
                    yield "who-lines", "documents", path, begin, sentence
                if WORD.search(sentence):
                    yield "words", "documents", path, begin, sentence
                if len(re.sub(r"`[^`]*`", "code", sentence).split()) > MOST_WORDS:
                    yield "long sentences", "documents", path, begin, sentence


def above_limits(found):
    """A line for each kind of which there is more than MOST allows, and its places."""
    for (name, kind), most in MOST.items():
        those = sorted(place for place in found if place[:2] == (name, kind))
        if len(those) > most:
            yield f"{name} in {kind}: {len(those)}, and {most} are allowed (tests/tidy/prose.py says what counts):"
            yield from (f"  {path}:{number}: {text.strip()}" for _, _, path, number, text in those)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", action="store_true", help="each place behind the figures")
    parser.add_argument("--check", action="store_true", help="only what is above its limit")
    options = parser.parse_args()
    found = list(places())
    if options.check:
        above = list(above_limits(found))
        print("\n".join(above))
        return 1 if above else 0
    where = ("comments", "messages", "documents", "tests")
    print("%-16s%12s%12s%12s%12s" % ("", *where))
    for name in ("who-lines", "openings", "words", "long sentences"):
        counts = [sum(1 for place in found if place[:2] == (name, kind)) for kind in where]
        print("%-16s%12s%12s%12s%12s" % (name, *counts))
    words = sum(len(text.split()) for path, text in listed("README.md", "CONTRIBUTING.md", "docs/*.md"))
    print("words of README, CONTRIBUTING and docs: %d" % words)
    if options.lines:
        for name, kind, path, number, text in sorted(found):
            print(f"{name}, {kind}: {path}:{number}: {text.strip()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
