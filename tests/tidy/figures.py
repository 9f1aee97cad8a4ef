#!/usr/bin/env python3
"""Figures of the tree: sizes, headers with one user, circles between folders, large classes.

    python3 tests/tidy/figures.py            prints them
    python3 tests/tidy/figures.py --arrows   also names each include behind a figure

What is counted, in production code (common, scheduler, worker_agent, ring, ctl) unless a line says otherwise:

    unit                   a .h with its .cc
    header with one user   only one other unit of production code includes it; tests don't count
    mutual pair            two folders of scheduler/core (one of them may be scheduler/core itself) whose files include
                           each other
    upward arrow           two folders of scheduler/core where a file of the lower floor includes one of a higher floor
                           (tidy.floors; scheduler/core itself is the highest)
    methods of a class     names of functions that are declared in its body, each counted once; operators, constructors
                           and destructors are left out
"""
import argparse
import os
import re
import statistics

import tidy
from includes import without_comments

CORE = "scheduler/core"
GATEWAYS = "worker_agent/gateway"
SHOWN_CLASSES = 10


def unit_of(path):
    return os.path.splitext(path)[0]


def users_of_headers(texts):
    """Returns {header: the units of production code that include it}."""
    users = {path: set() for path in texts if path.endswith(".h")}
    for path, text in texts.items():
        for other in tidy.includes(text):
            if other in users and unit_of(path) != unit_of(other):
                users[other].add(unit_of(path))
    return users


def include_depth(texts):
    depths = {}

    def depth(path):
        if path not in depths:
            depths[path] = 0  # ends the recursion in a circle
            depths[path] = 1 + max((depth(other) for other in tidy.includes(texts[path]) if other in texts), default=0)
        return depths[path]

    return max(map(depth, texts))


def core_arrows(texts):
    """(folder, folder): the includes that lead from one to the other, within the scheduler's core."""
    arrows = {}
    for path, text in texts.items():
        if not path.startswith(CORE + "/"):
            continue
        for other in tidy.includes(text):
            pair = os.path.dirname(path), os.path.dirname(other)
            if other.startswith(CORE + "/") and pair[0] != pair[1]:
                arrows.setdefault(pair, []).append(f"{path} includes {other}")
    return arrows


def floor_of(folder, rows):
    name = folder[len(CORE) + 1:]
    return next((number for number, row in enumerate(rows) if name in row), -1)


def class_bodies(text):
    """(name, body) of each class or struct that is defined in this text."""
    for found in re.finditer(r"\b(?:class|struct)\s+(?:ABSL_\w+(?:\([^)]*\))?\s+)?([\w:]+)(?:\s+final)?\s*(?::[^;{]*)?\{",
                             text):
        level, end = 1, found.end()
        while level > 0 and end < len(text):
            level += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield found.group(1), text[found.end():end - 1]


def methods(name, body):
    """The names of the functions that a class's body declares, without those of classes inside it."""
    flat, level = [], 0
    for char in body:
        if char == "}":
            level -= 1
            flat.append(";" if level == 0 else "")
        elif level == 0:
            flat.append(char)
        if char == "{":
            level += 1
    own = name.split("::")[-1]
    names = set()
    for statement in "".join(flat).split(";"):
        statement = re.sub(r"\b(?:public|private|protected)\s*:", "", statement)
        statement = re.sub(r"ABSL_\w+(?:\([^)]*\))?|\btemplate\s*<[^>]*>", "", statement).strip()
        if re.match(r"(?:using|friend|enum|class|struct|static_assert|typedef)\b", statement):
            continue
        declared = re.match(r"[\w:<>,&*\s~\[\]()]*?[\s&*>](\w+)\s*\(", statement.split("=")[0] + " ")
        if declared and declared.group(1) != own and "operator" not in statement and "std::function<" not in \
                statement[:declared.start(1)]:
            names.add(declared.group(1))
    return names


def largest_classes(texts):
    counts = []
    for path, text in texts.items():
        for name, body in class_bodies(without_comments(text)):
            counts.append((len(methods(name, body)), name, path))
    return sorted(counts, reverse=True)[:SHOWN_CLASSES]


def print_figures(texts, with_arrows):
    units = {}
    for path, text in texts.items():
        units.setdefault(unit_of(path), []).append(text.count("\n"))
    users = users_of_headers(texts)
    single = sorted(path for path in users if len(users[path]) == 1)
    gateway_headers = [path for path in users if path.startswith(GATEWAYS + "/")]
    single_gateway = [path for path in single if path.startswith(GATEWAYS + "/")]
    lines = {part: sum(text.count("\n") for path, text in texts.items() if path.startswith(part + "/"))
             for part in tidy.PRODUCTION + (GATEWAYS,)}
    comments = code = 0
    for path, text in texts.items():
        if path.endswith(".cc"):
            comments += sum(line.lstrip().startswith("//") for line in text.split("\n"))
            code += sum(bool(line.strip()) for line in text.split("\n"))
    longest = max((length, path, begin) for path, text in texts.items() for begin, length in tidy.functions(text))
    folders = {}
    for path in texts:
        folders[os.path.dirname(path)] = folders.get(os.path.dirname(path), 0) + 1
    largest = max(folders, key=folders.get)
    arrows = core_arrows(texts)
    mutual = sorted(pair for pair in arrows if pair[0] < pair[1] and pair[::-1] in arrows)
    rows = tidy.floors(texts[tidy.FLOORS[0]])
    upward = sorted(pair for pair in arrows if floor_of(pair[0], rows) > floor_of(pair[1], rows))

    print(f"lines                        {sum(lines[part] for part in tidy.PRODUCTION)} "
          f"({', '.join(f'{part} {lines[part]}' for part in tidy.PRODUCTION)})")
    print(f"files, units                 {len(texts)}, {len(units)}")
    print(f"lines of a unit, median      {statistics.median(map(sum, units.values())):.0f}")
    print(f"headers with one user        {len(single)} of {len(users)}, {100 * len(single) / len(users):.0f} %")
    print(f"gateways                     {lines[GATEWAYS]} lines, {len(gateway_headers)} headers, "
          f"{len(single_gateway)} with one user")
    print(f"scheduler/core               {len(mutual)} mutual pairs of folders, {len(upward)} upward arrows")
    print(f"include depth                {include_depth(texts)}")
    print(f"longest file                 {max(text.count(chr(10)) for text in texts.values())} lines")
    print(f"longest function             {longest[0]} lines ({longest[1]}:{longest[2]})")
    print(f"largest folder               {folders[largest]} sources ({largest})")
    print(f"comments in .cc files        {100 * comments / code:.1f} % of the lines")
    print("methods of the largest classes")
    for count, name, path in largest_classes(texts):
        print(f"    {count:3}  {name} ({path})")
    if not with_arrows:
        return
    for title, pairs in (("mutual pairs", mutual + [pair[::-1] for pair in mutual]), ("upward arrows", upward)):
        print(f"\n{title}")
        for pair in sorted(pairs):
            for line in arrows[pair]:
                print(f"    {line}")
    print("\nheaders with one user")
    for path in single:
        print(f"    {path}: {next(iter(users[path]))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arrows", action="store_true", help="also names each include behind a figure")
    print_figures(tidy.sources(), parser.parse_args().arrows)


if __name__ == "__main__":
    main()
