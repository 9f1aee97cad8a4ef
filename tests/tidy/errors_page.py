#!/usr/bin/env python3
"""Makes the tables of docs/errors.md that the sources have already: exit codes, reasons of a failure, refusals.

    python3 tests/tidy/errors_page.py  writes them into the page, between its markers

tidy.py fails if the page is not what this script makes of the sources. A row is the comment above a value: its first
sentence says what the value means, the next ones what to do. The advice on a reason is that which ms-ctl why shows.
"""
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = "docs/errors.md"
EXIT_CODES = "common/base/exit_codes.h"
REASONS = "common/base/reason.h"
ADVICE = "scheduler/core/facts/diagnosis.cc"
KINDS = "common/causes/failure_kind.cc"
REFUSALS = "proto/muster/v1/rendezvous.proto"
REMOTE = "proto/muster/v1/types.proto"
SOURCES = (EXIT_CODES, REASONS, ADVICE, KINDS, REFUSALS, REMOTE)

MARKER = "<!-- made by tests/tidy/errors_page.py: %s -->"
END = "<!-- end -->"
PLACEHOLDERS = {"{host}": "the host", "{killer}": "earlyoom, systemd-oomd or a script"}


class Missing(Exception):
    """A value without a comment, or a text that is not where this script looks."""


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def part(path, text, begin, end):
    found = re.search(re.escape(begin) + r"(.*?)" + re.escape(end), text, re.DOTALL)
    if found is None:
        raise Missing(f"{path}: there is no `{begin}`, which tests/tidy/errors_page.py reads")
    return found.group(1)


def commented(path, text, value):
    """(what the groups of `value` match, what it means, what to do) for each line that `value` matches."""
    comment = []
    for line in text.split("\n"):
        if line.lstrip().startswith("//"):
            comment.append(line.strip().lstrip("/").strip())
            continue
        found = re.match(value, line)
        if found:
            words = " ".join(comment)
            if not words:
                raise Missing(f"{path}: `{line.strip()}` has no comment above it that says what it means")
            means, _, do = words.partition(". ")
            yield found.groups(), means.rstrip("."), do.rstrip(".")
        comment = []


def exit_codes(texts):
    value = r"\s*(?:kExit\w+ = (\d+),|constexpr int kExitSignalBase = (128);)"
    for (code, base), means, do in commented(EXIT_CODES, texts[EXIT_CODES], value):
        yield code or base + " + signal", means, do


def advice(texts):
    """Constant of a reason → the advice, with words in place of what is filled in."""
    table = part(ADVICE, texts[ADVICE], "kAdvice = std::to_array<Advice>({", "\n});")
    out = {}
    for name, literals in re.findall(r'\{reason::(k\w+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\}', table):
        text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"')
        for placeholder, words in PLACEHOLDERS.items():
            text = text.replace(placeholder, words)
        out[name] = text
    if len(out) != table.count("{reason::"):
        raise Missing(f"{ADVICE}: tests/tidy/errors_page.py can't read all rows of kAdvice")
    return out


def capital(text):
    return text[:1].upper() + text[1:]


def kinds(texts):
    """Constant of a reason → its kind, as in failure_kind."""
    found = re.findall(r"\{reason::(k\w+), FailureKind::k(\w+)\}", texts[KINDS])
    if not found:
        raise Missing(f"{KINDS}: tests/tidy/errors_page.py finds no row")
    return {name: kind.lower() for name, kind in found}


def reasons(texts):
    advised = advice(texts)
    kind_of = kinds(texts)
    value = r'inline constexpr absl::string_view (k\w+) = "(\w+)";'
    for (name, word), means, do in commented(REASONS, texts[REASONS], value):
        yield f"`{word}` ({kind_of.get(name, 'unknown')})", means, capital(advised.get(name, do))


def refusals(texts):
    listed = part(REFUSALS, texts[REFUSALS], "  enum Reason {\n    REASON_UNSPECIFIED = 0;\n", "\n  }")
    for (name,), means, do in commented(REFUSALS, listed, r"\s*([A-Z_]+) = \d+;"):
        yield name, means, do


def remote_refusals(texts):
    listed = part(REMOTE, texts[REMOTE], "  enum Refusal {\n    NOT_REFUSED = 0;\n", "\n  }")
    for (name,), means, do in commented(REMOTE, listed, r"\s*([A-Z_]+) = \d+;"):
        yield name, means, do


TABLES = {  # marker: heading of the first column, rows
    "exit codes": ("code", exit_codes),
    "reasons": ("reason (kind)", reasons),
    "refusals": ("reason", refusals),
    "refusals of remote commands": ("reason", remote_refusals),
}


def table(name, texts):
    heading, rows = TABLES[name]
    lines = [f"| {heading} | it means | do |", "|---|---|---|"]
    for value, means, do in rows(texts):
        means, do = (text.replace("|", "\\|") for text in (means, do))
        lines.append(f"| {value} | {means} | {do} |")
    return "\n".join(lines)


def made(page, texts):
    """The page with today's tables."""
    for name in TABLES:
        begin = MARKER % name
        before, found, rest = page.partition(begin + "\n")
        _, end, after = rest.partition(END)
        if not found or not end:
            raise Missing(f"{PAGE} has no `{begin}` with an `{END}` after it")
        page = f"{before}{found}\n{table(name, texts)}\n\n{end}{after}"
    return page


def problems(texts):
    """What is wrong with the tables, as lines. `texts`: sources by their path; those that it lacks are read."""
    page = read(PAGE)
    texts = {**{path: read(path) for path in SOURCES}, **texts}
    try:
        fresh = made(page, texts)
    except Missing as missing:
        yield str(missing)
        return
    if fresh != page:
        yield f"{PAGE} is not what its sources say: `python3 tests/tidy/errors_page.py` writes it"


def main():
    page = read(PAGE)
    with open(os.path.join(ROOT, PAGE), "w", encoding="utf-8") as file:
        file.write(made(page, {path: read(path) for path in SOURCES}))
    subprocess.run(["git", "--no-pager", "diff", "--stat", "--", PAGE], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
