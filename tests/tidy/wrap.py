#!/usr/bin/env python3
"""Wraps the prose of Markdown files at 120 columns, in place: `wrap.py README.md docs/*.md`. Changes only paragraphs and
list items that have a longer line. Headings, tables, code and short lines stay as they are."""

import re
import sys
import textwrap

WIDTH = 120
ITEM = re.compile(r"\s*(?:[-*+]|\d+\.) +")


def glued(text):
    """Keeps code spans whole, and keeps lines from beginning with what would be a list there."""
    text = re.sub(r"`[^`\n]{1,60}`", lambda span: span.group().replace(" ", "\0"), text)
    return re.sub(r" ([-+*]|\d+\.)(?= |$)", "\0\\1", text)


def wrapped(lines):
    """One paragraph or list item."""
    if all(len(line) <= WIDTH for line in lines):
        return lines
    first = re.match(r"\s*", lines[0]).group()
    item = ITEM.match(lines[0])
    rest = " " * len(item.group()) if item else first
    text = glued(" ".join(line.strip() for line in lines))
    return [line.replace("\0", " ") for line in
            textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                          break_on_hyphens=False)]


def wrap(text):
    out, paragraph, in_fence, in_item = [], [], False, False
    for line in text.split("\n") + [None]:
        is_item = line is not None and ITEM.match(line) is not None
        is_code = line is not None and not paragraph and not in_item and re.match(r" {4}\S", line)
        is_kept = line is None or in_fence or is_code or line == "" or re.match(r"\s*(#|\||```|<)", line)
        if is_kept or is_item:
            out += wrapped(paragraph) if paragraph else []
            paragraph = []
        if line is None:
            break
        if line.lstrip().startswith("```"):
            in_fence = not in_fence
        if is_kept:
            out.append(line)
            continue
        paragraph.append(line)
        in_item = is_item or (in_item and line.startswith("  "))
    return "\n".join(out)


def main():
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            before = file.read()
        after = wrap(before)
        if after != before:
            with open(path, "w", encoding="utf-8") as file:
                file.write(after)


if __name__ == "__main__":
    main()
