#!/usr/bin/env python3
"""make_settings.py PROGRAM…: prints docs/settings.md, out of what the programs say to --help-all.

    python3 deploy/man/make_settings.py build/bin/ms-scheduler build/bin/ms-worker build/bin/ms-ctl > docs/settings.md

What all programs have, and what the first two have, is in sections of their own. tests/e2e/jobs/test_man_pages.py fails
if the page is not what it prints."""

import pathlib
import re
import sys

from make_man import ask, parse

HEAD = """# Settings

    ms-worker --help       # the settings that most people need; the same for ms-scheduler
    ms-worker --help-all   # all
    ms-ctl help logs       # one command and its settings

Each setting is a flag, an environment variable and a line `key = value` of the file that `--config` names. A flag wins
over a variable, and a variable over the file. Dashes and underscores mean the same. Times are in seconds, or with a
unit: 500ms, 10s, 5m, 2h. A switch needs no value; `--name=0` turns it off. The [operator's guide](operators-guide.md)
explains what the settings are for.

`deploy/man/make_settings.py` makes this page from `--help-all`: change the tables in the code, not the page.
"""


def taken(pattern, text):
    """What `pattern` finds in the text, and the text without it."""
    found = re.search(pattern, text)
    return (found.group(1), (text[:found.start()] + text[found.end():]).strip()) if found else ("", text)


def cell(text):
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())


def row(name, text):
    also, text = taken(r" Also: (--[^ ].*?)\.$", text)
    variables, text = taken(r" \[([A-Z][A-Z0-9_, ]*)\]", " " + text)
    default, text = taken(r" Default: (.*?)\.(?= |$)", " " + text)
    names = [word for word in (name, *also.split(", "), *variables.split(", ")) if word]
    return "| %s | %s | %s |" % (cell(", ".join("`%s`" % word for word in names)), cell(default), cell(text))


def users_of(setting, programs):
    """The programs in whose section it stands: all, the first two, or the one itself (None)."""
    users = [name for name, said in programs if any(setting in found for _, found in said.settings)]
    names = [name for name, _ in programs]
    return tuple(users) if len(users) > 1 and users in (names, names[:2]) else None


def sections(programs):
    """Heading of a section → heading of a group in it → rows."""
    names = [name for name, _ in programs]
    out = {"All programs": {}, " and ".join(names[:2]): {}, **{name: {} for name in names}}
    for name, said in programs:
        for group, found in said.settings:
            for setting in found:
                users = users_of(setting, programs)
                heading = name if users is None else "All programs" if len(users) == len(names) else " and ".join(users)
                if users is None or name == users[0]:
                    out[heading].setdefault(group, []).append(row(*setting))
    return out


def main():
    programs = [(path.name, parse(ask(path, "--help-all"))) for path in map(pathlib.Path, sys.argv[1:])]
    lines = [HEAD.rstrip("\n")]
    for heading, groups in sections(programs).items():
        lines += ["", "## " + heading]
        for group, rows in groups.items():
            lines += ["", "### " + group, "", "| setting | default | |", "|---|---|---|", *rows]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
