#!/usr/bin/env python3
"""make_man.py PROGRAM…: writes PROGRAM.1 for each into the folder of --into, out of what it says to --help and --version.

So a man page knows each setting that the program knows, and nothing has to be kept in step by hand."""

import argparse
import datetime
import os
import pathlib
import re
import subprocess

SECTIONS = {  # that --help does not have
    "ms-scheduler": [("EXIT STATUS", "0 after a signal, or with --once when the job succeeded; 1 when it failed; 2 for "
                                     "wrong settings or what can't be had at the start.")],
    "ms-worker": [("EXIT STATUS", "0 when the job succeeded; the code of this node's process that failed, or 128 and its "
                                  "signal; 10 to 15 where Muster itself has a reason, which it says.")],
    "ms-ctl": [("EXIT STATUS", "0 done; 1 refused, or a watched job failed; 2 wrong usage; 10 the scheduler can't be "
                               "reached; 14 it was lost while watching; 15 it is not trusted, or does not trust us.")],
}
SEE_ALSO = ("ms-scheduler", "ms-worker", "ms-ctl")


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
            out.append([name, text.strip()])
        elif line.strip() and out:
            out[-1][1] = (out[-1][1] + " " + line.strip()).strip()
    return out


def listed(lines):
    out = []
    for name, text in entries(lines):
        out += [".TP", ".B " + escape(name), escape(text)]
    return out


def page(program, help_text, version, date):
    blocks = help_text.rstrip("\n").split("\n\n")
    usage = blocks.pop(0)
    assert usage.startswith("Usage: "), usage
    commands = []
    if blocks and blocks[0].startswith("Commands:"):
        commands = blocks.pop(0).splitlines()[1:]
    summary, explanation = " ".join(blocks.pop(0).split()), " ".join(blocks.pop(0).split())
    name_line = summary.split(". ")[0].rstrip(".")
    out = ['.TH %s 1 "%s" "Muster %s" "Muster"' % (program.upper(), date, version),
           ".SH NAME", "%s \\- %s" % (escape(program), escape(name_line[:1].lower() + name_line[1:])),
           ".SH SYNOPSIS"]
    for number, line in enumerate(usage[len("Usage: "):].splitlines()):
        out += [".br"] if number else []
        out.append(escape(line.strip()))
    out += [".SH DESCRIPTION", escape(summary), ".PP", escape(explanation)]
    if commands:
        out += [".SH COMMANDS", *listed(commands)]
    out.append(".SH OPTIONS")
    for block in blocks:
        lines = block.splitlines()
        out += [".SS " + escape(lines[0].rstrip(":")), *listed(lines[1:])]
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
        def ask(flag):
            return subprocess.run([path.resolve(), flag], check=True, text=True, stdout=subprocess.PIPE).stdout
        version = ask("--version").split()[1]
        text = page(path.name, ask("--help"), version, day.strftime("%Y-%m-%d"))
        (words.into / (path.name + ".1")).write_text(text)


if __name__ == "__main__":
    main()
