#!/usr/bin/env python3
"""make_settings.py PROGRAM…: prints docs/settings.md, out of what the programs say to --help.

    python3 deploy/man/make_settings.py build/bin/ms-scheduler build/bin/ms-worker build/bin/ms-ctl > docs/settings.md

tests/e2e/jobs/test_man_pages.py fails where the page is not what it prints."""

import pathlib
import re
import subprocess
import sys

from make_man import entries

HEAD = """# Settings

All settings of the programs. `deploy/man/make_settings.py` makes this page of what they say to `--help`: change the
tables in the code, not the page. Each is a flag (dashes and underscores mean the same), an environment variable and a
line `key = value` of the file that `--config` names; the first of these that sets it wins. Times are in seconds, or
with a unit: 500ms, 10s, 5m, 2h. What they are for: [operator's guide](operators-guide.md).
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
    flags = ["`%s`" % name] + ["`%s`" % flag for flag in also.split(", ") if flag]
    variables = ["`%s`" % variable for variable in variables.split(", ") if variable]
    return "| %s | %s | %s | %s |" % (cell(", ".join(flags)), "`%s`" % cell(default) if default else "",
                                      ", ".join(variables), cell(text))


def section(program, help_text):
    lines = ["", "## " + program]
    for block in help_text.rstrip("\n").split("\n\n"):
        title, *rest = block.splitlines()
        if title.startswith(("Usage:", "Commands:")) or not title.endswith(":") or not rest:
            continue
        lines += ["", "### " + title.rstrip(":"), "", "| setting | default | variable | |", "|---|---|---|---|"]
        lines += [row(name, text) for name, text in entries(rest)]
    return lines


def main():
    lines = [HEAD.rstrip("\n")]
    for program in sys.argv[1:]:
        path = pathlib.Path(program)
        said = subprocess.run([path.resolve(), "--help"], check=True, text=True, stdout=subprocess.PIPE).stdout
        lines += section(path.name, said)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
