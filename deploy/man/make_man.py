#!/usr/bin/env python3
"""make_man.py PROGRAM…: writes PROGRAM.1 for each into the folder of --into, out of its --help-all and --version.

So a man page has each setting of the program, and nothing has to be kept in step by hand."""

import argparse
import collections
import datetime
import os
import pathlib
import re
import subprocess

SECTIONS = {  # that --help-all does not have
    "ms-scheduler": [("EXIT STATUS", "0 after a signal, or with --once when the job succeeded; 1 when it failed; 2 for "
                                     "wrong settings or what can't be had at the start.")],
    "ms-worker": [("EXIT STATUS", "0 when the job succeeded; the code of this node's process that failed, or 128 and its "
                                  "signal; 10 to 16 where Muster itself has a reason, which it reports.")],
    "ms-ctl": [("EXIT STATUS", "0 done; 1 refused, or a watched job failed; 2 wrong usage; 10 the scheduler can't be "
                               "reached; 14 it was lost while watching; 15 it is not trusted, or does not trust us.")],
}
SEE_ALSO = ("ms-scheduler", "ms-worker", "ms-ctl")

# The text of --help-all. Commands and settings are [(heading, [(name, text)])], examples [(line, text)].
Help = collections.namedtuple("Help", "usage summary commands examples explanation settings")


def escape(text):
    """As roff takes it: dashes that can be copied, no line that begins a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = text.encode("ascii", "backslashreplace").decode()
    text = re.sub(r"\\u([0-9a-f]{4})", lambda found: "\\[u%s]" % found.group(1).upper(), text)
    return "\\&" + text if text.startswith(".") else text


def entries(lines):
    """(what, text) of lines such as "  --flag VALUE   what it does", which go on further to the right."""
    out = []
    for line in lines:
        begin = re.match(r"  (\S.*)$", line)
        if begin is not None:
            name, _, text = begin.group(1).partition("  ")
            out.append((name, text.strip()))
        elif line.strip() and out:
            out[-1] = (out[-1][0], (out[-1][1] + " " + line.strip()).strip())
    return out


def parse(text):
    usage, summary, *blocks = text.rstrip("\n").split("\n\n")
    assert usage.startswith("Usage: "), usage
    before, after, explanation = [], [], ""
    for block in blocks:
        heading, *lines = block.splitlines()
        if heading.endswith(":") and lines and lines[0].startswith("  "):
            (after if explanation else before).append((heading.rstrip(":"), entries(lines)))
        else:
            explanation = " ".join(block.split())
    examples = [entry for heading, found in before if heading == "Examples" for entry in found]
    commands = [section for section in before if section[0] != "Examples"]
    return Help(usage[len("Usage: "):], " ".join(summary.split()), commands, examples, explanation, after)


def ask(program, *flags):
    return subprocess.run([program.resolve(), *flags], check=True, text=True, stdout=subprocess.PIPE).stdout


def listed(found):
    out = []
    for name, text in found:
        out += [".TP", ".B " + escape(name), escape(text)]
    return out


def page(program, said, version, date):
    name_line = said.summary.split(". ")[0].rstrip(".")
    out = ['.TH %s 1 "%s" "Muster %s" "Muster"' % (program.upper(), date, version),
           ".SH NAME", "%s \\- %s" % (escape(program), escape(name_line[:1].lower() + name_line[1:])),
           ".SH SYNOPSIS", escape(said.usage), ".SH DESCRIPTION", escape(said.summary), ".PP", escape(said.explanation)]
    if said.commands:
        out.append(".SH COMMANDS")
        for heading, found in said.commands:
            out += [".SS " + escape(heading), *listed(found)]
    out.append(".SH OPTIONS")
    for heading, found in said.settings:
        out += [".SS " + escape(heading), *listed(found)]
    if said.examples:
        out += [".SH EXAMPLES", *listed(said.examples)]
    for title, text in SECTIONS.get(program, []):
        out += [".SH " + title, escape(text)]
    others = [other for other in SEE_ALSO if other != program]
    out.append(".SH SEE ALSO")
    out += [".BR %s (1)%s" % (escape(other), "," if other != others[-1] else "") for other in others]
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", type=pathlib.Path)
    parser.add_argument("--into", type=pathlib.Path, default=pathlib.Path("."))
    words = parser.parse_args()
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    day = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc) if epoch else datetime.date.today()
    words.into.mkdir(parents=True, exist_ok=True)
    for path in words.programs:
        version = ask(path, "--version").split()[1]
        text = page(path.name, parse(ask(path, "--help-all")), version, day.strftime("%Y-%m-%d"))
        (words.into / (path.name + ".1")).write_text(text)


if __name__ == "__main__":
    main()
