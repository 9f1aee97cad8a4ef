#!/usr/bin/env python3
"""Checks that tidy.py finds what it is for: each check is given the tree with one violation planted.

    python3 tests/tidy/tidy_test.py
"""
import re
import unittest

import errors_page
import prose
import tidy


class Planted(unittest.TestCase):
    check = None

    def setUp(self):
        self.texts = tidy.sources()

    def found(self):
        return "\n".join(type(self).check(self.texts))


class Floors(Planted):
    check = tidy.check_floors

    def plant(self, path, line):
        self.texts[path] = line + "\n" + self.texts.get(path, "")

    def test_the_tree_itself_has_no_violation(self):
        self.assertEqual(self.found(), "")

    def test_an_include_of_a_higher_floor(self):
        self.plant("scheduler/core/state/state.h", '#include "scheduler/core/facts/cause.h"')
        self.assertRegex(self.found(), r"^scheduler/core/state/state\.h includes scheduler/core/facts/cause\.h, which")

    def test_an_include_of_the_same_floor(self):
        self.plant("scheduler/core/places/waiting.cc", '#include "scheduler/core/lighthouse/quorum.h"')
        self.assertRegex(self.found(), r"^scheduler/core/places/waiting\.cc includes scheduler/core/lighthouse/quorum\.h")

    def test_an_include_of_what_stands_above_all_floors(self):
        self.plant("scheduler/core/liveness/timing.cc", '#include "scheduler/core/core.h"')
        self.assertRegex(self.found(), r"^scheduler/core/liveness/timing\.cc includes scheduler/core/core\.h")

    def test_a_folder_without_a_floor(self):
        self.plant("scheduler/core/new/part.h", "#pragma once")
        self.assertRegex(self.found(), r"^scheduler/core/new/part\.h: the table of floors .* has no row for its folder")

    def test_a_document_that_shows_other_floors(self):
        table = self.texts[tidy.FLOORS[0]]
        self.texts[tidy.FLOORS[0]] = table.replace("//   facts ", "//   tales ", 1)
        self.assertRegex(self.found(), r"^docs/architecture\.md shows other floors")


class Groups(Planted):
    check = tidy.check_groups

    def test_the_tree_itself_has_no_violation(self):
        self.assertEqual(self.found(), "")

    def test_a_declaration_above_which_another_file_is_named(self):
        path = "scheduler/core/liveness/liveness.h"
        self.texts[path] = self.texts[path].replace("  // ---- timing.cc\n", "", 1)
        self.assertRegex(self.found(), r"liveness\.h says that .*/reporting\.cc defines On\(const Tick …\), and it does not")

    def test_a_file_that_is_not_there(self):
        path = "scheduler/core/liveness/liveness.h"
        self.texts[path] = self.texts[path].replace("---- reporting.cc", "---- hearing.cc", 1)
        self.assertRegex(self.found(), r"liveness\.h says that .*/hearing\.cc defines On\(const ReportReceived …\)")


class Includes(Planted):
    check = tidy.check_includes

    def test_the_tree_itself_has_no_violation(self):
        self.assertEqual(self.found(), "")

    def test_a_header_of_which_nothing_is_mentioned(self):
        path = "common/base/text.cc"
        for header in ('"common/base/sha256.h"', "<deque>", '"absl/cleanup/cleanup.h"'):
            self.texts[path] = f"#include {header}\n" + self.texts[path]
            self.assertIn(f"{path}: includes {header[1:-1]} and mentions nothing of it", self.found())


class Prose(unittest.TestCase):
    def test_a_comment_without_a_subject(self):
        self.assertTrue(prose.begins_without_subject(["Of the parts that a node has."]))
        self.assertTrue(prose.begins_without_subject(["Not who came last: an honest write would be lost."]))
        self.assertFalse(prose.begins_without_subject(["Without TLS, anyone can read it."]))
        self.assertFalse(prose.begins_without_subject(["Whose is it?"]))

    def test_comments_messages_and_words(self):
        text = 'int a;  // whose it is\n// It is mended.\nLog("look at who is told");\n'
        self.assertEqual([line for _, lines, _ in prose.comments(text) for line in lines], ["whose it is", "It is mended."])
        self.assertEqual(list(prose.texts_of(text)), [(3, "look at who is told")])
        self.assertTrue(prose.WORD.search("It is mended."))
        self.assertFalse(prose.WORD.search("It is fixed."))

    def test_more_places_than_allowed(self):
        place = ("words", "documents", "docs/a.md", 1, "It is mended.")
        self.assertEqual(list(prose.above_limits([place] * prose.MOST[place[:2]])), [])
        found = "\n".join(prose.above_limits([place] * (prose.MOST[place[:2]] + 1)))
        self.assertIn("words in documents: 1, and 0 are allowed", found)
        self.assertIn("docs/a.md:1: It is mended.", found)


class Errors(Planted):
    check = tidy.check_errors
    STALE = r"^docs/errors\.md is not what its sources say: `python3 tests/tidy/errors_page\.py` writes it$"

    def setUp(self):
        self.texts = {**tidy.sources(), **{path: errors_page.read(path) for path in errors_page.SOURCES}}

    def replace(self, path, old, new):
        self.assertIn(old, self.texts[path])
        self.texts[path] = self.texts[path].replace(old, new, 1)

    def test_the_tree_itself_has_no_violation(self):
        self.assertEqual(self.found(), "")

    def test_a_new_exit_code(self):
        self.replace(errors_page.EXIT_CODES, "  kExitGaveUp = 16,", "  kExitGaveUp = 16,\n  // New. Do this.\n  kExitNew = 17,")
        self.assertRegex(self.found(), self.STALE)

    def test_another_comment_of_a_refusal(self):
        self.replace(errors_page.REFUSALS, "// The node was drained.", "// The node has left.")
        self.assertRegex(self.found(), self.STALE)

    def test_a_new_refusal_of_remote_commands(self):
        self.replace(errors_page.REMOTE, "    TOO_MANY = 7;", "    TOO_MANY = 7;\n    // New. Do this.\n    NEW = 8;")
        self.assertRegex(self.found(), self.STALE)

    def test_other_advice(self):
        self.replace(errors_page.ADVICE, "{reason::kMissingLibrary, \"", "{reason::kMissingLibrary, \"please ")
        self.assertRegex(self.found(), self.STALE)

    def test_a_reason_that_nothing_explains(self):
        self.replace(errors_page.REASONS, "inline constexpr absl::string_view kBusError",
                     "inline constexpr absl::string_view kNew = \"new\";\ninline constexpr absl::string_view kBusError")
        self.replace(errors_page.REASONS, "// SIGBUS ended the process.\n", "")
        self.assertRegex(self.found(), r"^common/base/reason\.h: `.* kNew = .*` has no comment above it")

    def test_a_message_that_no_program_says(self):
        quoted = re.findall(r"^\| `([^`\"]+ [^`\"]+)` \|", errors_page.read("docs/troubleshooting.md"), re.M)[-1]
        for path, text in self.texts.items():
            joined = re.sub(r'"\s*\n\s*"', "", text)
            if quoted in joined:
                self.texts[path] = joined.replace(quoted, "")
        self.assertRegex(self.found(), r"^docs/troubleshooting\.md:\d+: no program says `%s` any more" % re.escape(quoted))


if __name__ == "__main__":
    unittest.main()
