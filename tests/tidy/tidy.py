#!/usr/bin/env python3
"""Checks the order of the tree: which folders may include which, sizes, purity, documented settings, documents' lines.

    python3 tests/tidy/tidy.py  checks; prints what is wrong and where, exits with 1

(tests/tidy/figures.py prints the tree's figures.)
"""
import os
import re
import subprocess
import sys

import errors_page
from includes import unneeded

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRODUCTION = ("common", "scheduler", "worker_agent", "ring", "ctl")

MOST_LINES = 450  # in a file
MOST_FUNCTION_LINES = 80
MOST_FILES = 25  # sources in a folder
MOST_COLUMNS = 120  # in a document's line, except tables and code

# Documents for people that only use Muster, and our own words that they need not learn.
FOR_USERS = ("README.md", "examples/README.md") + tuple(
    f"docs/{name}.md" for name in ("certificates", "faq", "frameworks", "from-other-launchers", "operators-guide",
                                   "recovery", "ring", "security", "troubleshooting"))
FOR_USERS_FOLDER = "docs/frameworks/"
PRIVATE_WORDS = re.compile(r"\bunarmed|\bvouch|\bfarewell|\bwithout a word", re.I)

# Folder: the folders that it may include, in addition to itself and those below it. The longest name that fits counts.
# A folder with a line of its own is not part of the folder above: it must be named.
BASE = ("common/base",)
SYS = BASE + ("common/sys",)
NET = SYS + ("common/net",)
TLS = NET + ("common/settings", "common/tls")
GRPC_SERVER = TLS + ("common/net/http2",)
CORE = BASE + ("common/causes", "common/store", "common/net/fair_share.h", "common/net/ip_address.h",
               "common/net/peer_node.h")  # pure
# Folders that put a program together: they may include everything.
KNOWS_ALL = ("scheduler", "worker_agent", "worker_agent/runtime")
MAY_INCLUDE = {
    "common/base": (),
    "common/command": SYS,
    "common/store": BASE,
    "common/sys": BASE,
    "common/net": SYS,
    "common/net/http2": TLS,
    "common/settings": NET,
    "common/tls": NET + ("common/settings",),
    "common/tcp_server": TLS,
    "common/mindspore": TLS + ("common/store", "common/tcp_server"),
    "common/causes": BASE,
    "common/hosts": CORE,
    "common/show": NET + ("common/causes/failure_kind.h", "common/causes/outcome.h", "common/hosts"),
    "scheduler/core": CORE + ("common/hosts",),
    "scheduler/journal": NET + ("common/settings", "scheduler/core"),
    "scheduler/loop": NET + ("scheduler/core", "scheduler/journal"),
    "scheduler/frontend": TLS + ("common/store", "scheduler/core", "scheduler/loop", "scheduler/heartbeat",
                                 "scheduler/ingress", "scheduler/rpc/validation.h"),
    "scheduler/heartbeat": TLS + ("scheduler/core", "scheduler/loop"),
    "scheduler/ingress": GRPC_SERVER + ("scheduler/core", "scheduler/loop"),
    "scheduler/http": TLS + ("common/show", "common/tcp_server", "scheduler/core", "scheduler/frontend",
                             "scheduler/ingress/peer_facts.h", "scheduler/loop", "scheduler/rpc/validation.h"),
    "scheduler/notices": NET + ("scheduler/core/state/events.h", "scheduler/loop"),
    "scheduler/mindspore": TLS + ("common/mindspore", "common/store", "common/tcp_server", "scheduler/ingress"),
    "scheduler/rpc": GRPC_SERVER + ("common/hosts", "common/store", "scheduler/core", "scheduler/loop",
                                    "scheduler/frontend", "scheduler/ingress", "scheduler/heartbeat"),
    "worker_agent/ascend": NET + ("common/settings", "worker_agent/launch",
                                  "worker_agent/machine", "worker_agent/settings"),
    "worker_agent/core": CORE,
    "worker_agent/keeper": NET + ("common/causes", "worker_agent/core/process_end.h", "worker_agent/core/process_key.h",
                                  "worker_agent/launch_error", "worker_agent/output_rules"),
    "worker_agent/launch_error": BASE,
    "worker_agent/output_rules": BASE,
    "worker_agent/settings": TLS + ("worker_agent/output_rules", "worker_agent/platform/platform.h"),
    "worker_agent/platform": BASE + ("common/settings",),
    "worker_agent/machine": NET,
    "worker_agent/devices": NET + ("common/causes", "worker_agent/machine"),
    "worker_agent/launch": NET + ("common/command", "common/settings", "worker_agent/launch_error",
                                  "worker_agent/settings", "worker_agent/machine"),
    "worker_agent/preflight": NET + ("common/hosts", "common/settings", "worker_agent/ascend", "worker_agent/devices",
                                     "worker_agent/launch/hccl_ports.h", "worker_agent/machine", "worker_agent/node",
                                     "worker_agent/settings"),
    "worker_agent/session": TLS + ("common/hosts", "worker_agent/launch", "worker_agent/core"),
    "worker_agent/store": NET + ("common/store",),
    "worker_agent/gateway": GRPC_SERVER + ("common/store", "common/mindspore", "common/tcp_server",
                                   "worker_agent/launch/environment/environment.h",
                                   "worker_agent/launch/command", "worker_agent/settings", "worker_agent/store",
                                   "worker_agent/core/process_end.h", "worker_agent/keeper/processes.h",
                                   "worker_agent/launch_error"),
    "worker_agent/diagnostics": NET + ("worker_agent/core", "worker_agent/launch", "worker_agent/keeper"),
    "worker_agent/node": TLS + ("worker_agent/ascend", "worker_agent/core", "worker_agent/devices", "worker_agent/launch",
                                "worker_agent/keeper", "worker_agent/machine", "worker_agent/settings",
                                "worker_agent/runtime", "worker_agent/session"),
    "ring": TLS + ("common/show/table.h", "worker_agent/launch_error"),
    "ctl/certs": TLS + ("common/show",),
    "ctl": TLS + ("common/causes/outcome.h", "common/command", "common/show", "common/store", "scheduler/core", "scheduler/journal",
                  # their settings: for a shared config file, and completion
                  "scheduler/scheduler_settings.h", "worker_agent/settings",
                  # `ms-ctl ranktable`: one way to check and to make a table
                  "worker_agent/ascend/made_table.h", "worker_agent/launch/rank_table.h"),
}

# The only users of a header of the scheduler's core: durable state changes by records only (state.h).
C = "scheduler/core/"
ONLY_FOR = {
    C + "context/evolve.h": (C + "core.cc", C + "context"),
}

# The floors of the scheduler's core, from the top: the rows of the table in the first file. The second file shows the
# same table. Folders of one row don't include each other; files outside any folder are above all floors.
FLOORS = (C + "context/context.h", "docs/architecture.md")

# A core uses no clock, no thread, no file and no socket.
PURE = ("common/causes/", "common/hosts/", "scheduler/core/", "worker_agent/core/", "worker_agent/store/store_core.")
PURE_STANDARD = {
    "algorithm", "array", "bit", "cctype", "cmath", "compare", "csignal", "cstddef", "cstdint", "cstdio", "cstdlib", "cstring", "deque",
    "functional", "initializer_list", "iterator", "limits", "list", "map", "memory", "numeric", "optional", "queue",
    "random", "set", "span", "string", "string_view", "tuple", "type_traits", "unordered_map", "unordered_set",
    "utility", "variant", "vector"
}
PURE_LIBRARIES = ("absl/algorithm/", "absl/base/", "absl/cleanup/", "absl/container/", "absl/functional/",
                  "absl/memory/", "absl/status/", "absl/strings/", "absl/time/", "absl/types/", "google/protobuf/",
                  "muster/v1/")
CLOCK = re.compile(r"absl::Now\(|absl::SleepFor|steady_clock|system_clock|clock_gettime|Clock::(System|Boot)\(|"
                   r"std::random_device|\bgetenv\(|\bfopen\(")

# A user with write access to a folder decides what the names in it are: perhaps a link or a pipe. The helpers of
# common/sys (OpenOwnFile, OpenPlainFile, ReadSmallFile, ReplaceFile) follow no link where it matters and never hang.
STREAMS = re.compile(r"\b[io]?fstream\b|\bfopen\(")
MAY_STREAM = {
    "worker_agent/gateway/exec/program/command.cc": "reads /proc; ms-exec links none of our libraries",
    "worker_agent/gateway/mpi/pmix/own_clients.cc": "reads /proc/self/net/tcp for each connection, up to one row",
}
CREATES_SAFELY = re.compile(r"O_NOFOLLOW|O_EXCL|OpenOwnFile\(|OpenPlainFile\(|OpenMarker\(")
MAY_CREATE = {
    "common/sys/private_folder.cc": "OpenToAppend: links are followed only in folders where no other user has a say",
    "ctl/commands/report_command.cc": "writes a file that the user names with -o",
}


def sources(folders=PRODUCTION):
    """Every source of the programs, by its path below the root."""
    listed = subprocess.check_output(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--",
                                      *folders], cwd=ROOT, text=True).split()
    texts = {}
    for path in listed:
        if path.endswith((".h", ".cc")) and os.path.exists(os.path.join(ROOT, path)):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                texts[path] = file.read()
    return texts


def includes(text):
    return re.findall(r'^#include ["<]([^">]+)[">]', text, re.M)


def lies_in(path, places):
    return any(path == place or path.startswith(place + "/") for place in places)


def folder_of(path):
    return max((name for name in MAY_INCLUDE if path.startswith(name + "/")), key=len, default=None)


def may_include(folder, other):
    own = folder_of(other) or ""
    return any(lies_in(other, (place,)) and not own.startswith(place + "/") for place in MAY_INCLUDE[folder])


def check_layers(texts):
    for path, text in texts.items():
        folder = folder_of(path)
        if folder is None:
            if os.path.dirname(path) not in KNOWS_ALL:
                yield f"{path}: MAY_INCLUDE in tests/tidy/tidy.py has no line for its folder"
            continue
        for other in includes(text):
            if not lies_in(other, PRODUCTION) or lies_in(other, (folder,)):
                continue
            if not may_include(folder, other):
                yield f"{path} includes {other}: {folder} may include {', '.join(MAY_INCLUDE[folder]) or 'nothing'}"


def check_parts(texts):
    for path, text in texts.items():
        for other in includes(text):
            if other in ONLY_FOR and not lies_in(path, ONLY_FOR[other]):
                yield f"{path} includes {other}: that is for {', '.join(ONLY_FOR[other])} (see ONLY_FOR)"


def floors(text):
    """The rows of a table of floors, each a list of folders."""
    return [row.split(", ") for row in re.findall(r"^(?://   |    )([a-z]+(?:, [a-z]+)*)  +\S", text, re.M)]


def check_floors(texts):
    rows = floors(texts[FLOORS[0]])
    with open(os.path.join(ROOT, FLOORS[1]), encoding="utf-8") as file:
        if not re.search(r"\n\n" + "".join(rf"    {', '.join(row)}  .*\n" for row in rows) + r"\n", file.read()):
            yield f"{FLOORS[1]} shows other floors than {FLOORS[0]}"
    height = {folder: len(rows) - number for number, row in enumerate(rows) for folder in row}
    height[""] = len(rows) + 1
    for path, text in texts.items():
        if not path.startswith(C):
            continue
        folder = os.path.dirname(path)[len(C):]
        if folder not in height:
            yield f"{path}: the table of floors in {FLOORS[0]} has no row for its folder"
            continue
        for other in includes(text):
            below = os.path.dirname(other)[len(C):]
            if other.startswith(C) and below != folder and height.get(below, 0) >= height[folder]:
                yield f"{path} includes {other}, which is on no floor below it (see the table in {FLOORS[0]})"


def check_gateways(texts):
    """A gateway includes the shared part (chassis), and no other gateway; the chassis includes none."""
    below = "worker_agent/gateway/"
    for path, text in texts.items():
        own = path[len(below):].split("/") if path.startswith(below) else ()
        for other in includes(text):
            part = other[len(below):].split("/") if other.startswith(below) else ()
            if len(own) > 1 and len(part) > 1 and part[0] not in (own[0], "chassis"):
                yield f"{path} includes {other}: gateways include each other only by way of {below}chassis"
            if len(own) > 1 and other.startswith(("worker_agent/settings/", "worker_agent/store/")):
                yield f"{path} includes {other}: {below}registry.cc passes on what a gateway needs of it"
    pages = "".join(text for path, text in documents() if re.match(r"docs/frameworks(?:/[^/]+)?\.md$", path))
    for names in re.findall(r'\.variables = "([^"]*)"', texts[below + "registry.cc"]):
        for name in names.split():
            if name not in pages:
                yield f"{below}registry.cc names {name}, of which docs/frameworks/*.md say nothing"


def check_groups(texts):
    """The declarations under `// ---- FILE.cc` in a class are those that this file defines."""
    for path, text in texts.items():
        groups = re.split(r"^  // ---- (\w+\.cc)\n", text, flags=re.M)
        for file, group in zip(groups[1::2], groups[2::2]):
            source = os.path.join(os.path.dirname(path), file)
            code = re.sub(r"//[^\n]*", "", group.split(" private:")[0])
            for name, first in re.findall(r"^  (?! )(?:[\w:<>,&*]+ )+[&*]?(\w+)\(((?:const )?\w*)[^;{]*;", code, re.M):
                if not re.search(rf"::{name}\({first}(?!\w)", texts.get(source, "")):
                    yield f"{path} says that {source} defines {name}({first} …), and it does not"


def check_purity(texts):
    for path, text in texts.items():
        if not path.startswith(PURE):
            continue
        for other in includes(text):
            if other in PURE_STANDARD or other.startswith(PURE_LIBRARIES) or lies_in(other, PRODUCTION):
                continue
            yield f"{path} includes {other}: a core is pure (tests/tidy/tidy.py lists what it may use)"
        if found := CLOCK.search(text):
            yield f"{path} uses {found.group(0)}: a core is told the time, and reads nothing by itself"


def check_parsers(texts):
    """nlohmann's parser takes quadratic time with a callback: it goes over a whole list after each of its entries."""
    for path, text in texts.items():
        if "parse_event_t" in text or re.search(r"json::parse\([^;]*\[[^;]*\]\s*\(", text):
            yield f"{path}: nlohmann's parse with a callback takes quadratic time; check the text or the result instead"


def check_grpc_servers(texts):
    """Every gRPC server needs a guard on HTTP/2 in front of it: gRPC 1.51 has no limits of its own."""
    for path, text in texts.items():
        if re.search(r"\bServerBuilder \w+;", text) and not any(
                "common/net/http2/relay.h" in includes(texts.get(name, "")) for name in (path, path[:-3] + ".h")):
            yield f"{path} builds a gRPC server without a relay before it: see common/net/http2/relay.h"
        if found := re.search(r"\b(AddListeningPort|AddInsecureChannelFromFd|AddChannelFromFd)\(", text):
            yield f"{path} calls {found.group(1)}: a gRPC server gets its connections from a relay only"


def check_files(texts):
    for path, text in texts.items():
        if path not in MAY_STREAM and (found := STREAMS.search(text)):
            yield (f"{path} uses {found.group(0)}: ReadSmallFile, ReplaceFile and OpenPlainFile (common/sys) follow no "
                   "planted link and wait for no pipe; MAY_STREAM in tests/tidy/tidy.py has the exceptions")
        for statement in text.split(";"):
            if "O_CREAT" in statement and not CREATES_SAFELY.search(statement) and path not in MAY_CREATE:
                yield (f"{path} creates a file (O_CREAT) without O_NOFOLLOW or O_EXCL: OpenPlainFile or OpenOwnFile "
                       "(common/sys/private_folder.h) does it; MAY_CREATE in tests/tidy/tidy.py has the exceptions")


def functions(text):
    """(first line, lines) of each function: it begins at a line's start and ends with a brace at a line's start."""
    lines = text.split("\n")
    begin = None
    for number, line in enumerate(lines, 1):
        if line == "}":
            if begin is not None:
                yield begin, number - begin + 1
            begin = None
        elif begin is None and re.match(r"[A-Za-z\[]", line) and not line.endswith((";", ":")) and not re.match(
                r"(namespace|class|struct|enum|union|extern|template|using|#)\b", line) and "(" in line:
            begin = number
        elif line.startswith(("}", "namespace", "class ", "struct ")) or (begin is not None and line == ""
                                                                       and lines[number - 2].endswith(";")
                                                                       and not lines[number - 2].startswith(" ")):
            begin = None


def check_sizes(texts):
    folders = {}
    for path, text in texts.items():
        folders.setdefault(os.path.dirname(path), []).append(path)
        lines = text.count("\n")
        if lines > MOST_LINES:
            yield f"{path} has {lines} lines, at most {MOST_LINES}: it is more than one idea"
        for begin, length in functions(text):
            if length > MOST_FUNCTION_LINES:
                yield f"{path}:{begin}: a function of {length} lines, at most {MOST_FUNCTION_LINES}"
    for folder, files in folders.items():
        if len(files) > MOST_FILES:
            yield f"{folder} has {len(files)} sources, at most {MOST_FILES}"


def check_settings(texts):
    """README or docs must explain each setting, in addition to the list of all settings."""
    documents = ""
    for path in subprocess.check_output(["git", "ls-files", "README.md", "docs/*.md"], cwd=ROOT, text=True).split():
        if path == "docs/settings.md":  # made from --help-all
            continue
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            documents += file.read().replace("-", "_")
    flags = set()
    for path, text in texts.items():
        if "settings" in path:
            flags |= set(re.findall(r'\bAdd\w+\(\s*(?:table,\s*)?"([a-z][a-z0-9_]+)"', text))
            flags |= set(re.findall(r'\.flag = "([a-z][a-z0-9_]+)"', text))
    for flag in sorted(flags):
        if not re.search(r"(?<![a-z0-9])" + flag + r"(?![a-z0-9_])", documents, re.I):
            yield f"--{flag} stands in no document"


def documents():
    """Yields every document that people read, with its path."""
    listed = subprocess.check_output(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "README.md",
                                      "CONTRIBUTING.md", "docs/*.md", "examples/*.md"], cwd=ROOT, text=True).split()
    for path in listed:
        if os.path.exists(os.path.join(ROOT, path)):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                yield path, file.read()


def check_documents(_texts):
    """Lines must fit a terminal, and users must know the words."""
    for path, text in documents():
        in_code = False
        for number, line in enumerate(text.split("\n"), 1):
            if line.startswith("```"):
                in_code = not in_code
            is_code = in_code or line.startswith("    ")
            if len(line) > MOST_COLUMNS and not is_code and not line.startswith("|"):
                yield (f"{path}:{number}: {len(line)} columns, at most {MOST_COLUMNS}: "
                       f"`python3 tests/tidy/wrap.py {path}` wraps it")
            if (path in FOR_USERS or path.startswith(FOR_USERS_FOLDER)) and (found := PRIVATE_WORDS.search(line)):
                yield f"{path}:{number}: users don't know what \"{found.group()}\" means: say it in common words"


FOR_MAINTAINERS = ("CONTRIBUTING.md", "docs/architecture.md")


def alternatives(word):
    """a/{b,c}: a/b and a/c."""
    found = re.fullmatch(r"(.*)\{([^}]*)\}(.*)", word)
    return [found.group(1) + one + found.group(3) for one in found.group(2).split(",")] if found else [word]


def check_named(_texts):
    """The files and names that maintainers' documents mention must exist."""
    files = subprocess.check_output(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                                    text=True).split()
    places, words = set(), set()
    for path in files:
        if not os.path.exists(os.path.join(ROOT, path)):
            continue
        parts = path.split("/")
        places.update("/".join(parts[first:last]) for last in range(1, len(parts) + 1) for first in range(last))
        if path.endswith((".h", ".cc", ".proto", ".py", ".sh", ".js", ".cmake", "CMakeLists.txt")):
            with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
                words.update(re.findall(r"\w+", file.read()))
    for document in FOR_MAINTAINERS:
        with open(os.path.join(ROOT, document), encoding="utf-8") as file:
            text = re.sub(r"```.*?```", "", file.read(), flags=re.DOTALL)
        for quoted in re.findall(r"`([^`\n]+)`", text):
            if re.search(r"[ <$*…]|^-", quoted) or quoted in places:
                continue  # a command, a pattern, or an existing file
            if "/" in quoted or re.search(r"\.(cc|h|proto|py|sh|txt|md|js|json|cmake)$", quoted):
                for place in alternatives(quoted.rstrip("/")):
                    if not any(place + suffix in places for suffix in ("", ".h", ".cc")):
                        yield f"{document} names {place}, which is not there"
            elif re.fullmatch(r"[A-Za-z_][\w:]*(\(.*\))?", quoted):
                for name in re.sub(r"\(.*", "", quoted).split("::"):
                    if name not in words:
                        yield f"{document} names {quoted}: no source has that word"


def check_includes(texts):
    """Each include must be needed, in tests and benchmarks, too."""
    return unneeded({**sources(("tests", "bench")), **texts})


def check_errors(texts):
    """docs/errors.md must have the tables that its sources give. It and troubleshooting.md must quote messages as the
    programs print them."""
    yield from errors_page.problems(texts)
    code = re.sub(r"^\s*//.*$", "", "\n".join(texts.values()), flags=re.M)
    said = re.sub(r'"\s*\n\s*"', "", code).replace('\\"', '"')
    for page in ("docs/errors.md", "docs/troubleshooting.md"):
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                quoted = re.match(r"\| `([^`]+)` \|", line)
                # "…" stands for what differs.
                if quoted and not all(piece.strip(" ():") in said for piece in quoted.group(1).split("…")):
                    yield f"{page}:{number}: no program says `{quoted.group(1)}` any more"


def main():
    texts = sources()
    found = []
    for check in (check_layers, check_parts, check_floors, check_groups, check_gateways, check_purity, check_parsers,
                  check_sizes, check_settings, check_documents, check_named, check_errors, check_grpc_servers, check_files,
                  check_includes):
        found += check(texts)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
