#!/usr/bin/env python3
"""Checks that tidy.py finds what it is for: each check is given the tree with one violation planted.

    python3 tests/tidy/tidy_test.py
"""
import unittest

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


if __name__ == "__main__":
    unittest.main()
