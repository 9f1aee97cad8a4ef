#include "worker_agent/launch/command/command_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/unit/launch/temporary_folder.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

class CheckCommandTest : public ::testing::Test {
 protected:
  CheckCommandTest() {
    folder_.Write("good/train", "#!/bin/sh\n");
    chmod((folder_.path() + "/good/train").c_str(), 0755);
    folder_.Write("plain/train", "#!/bin/sh\n");
    chmod((folder_.path() + "/plain/train").c_str(), 0644);
    folder_.Write("nested/train/file", "");
  }

  // Returns the exit code, 0 if nothing is wrong; the words stay unchanged.
  int Check(const std::string& program, const Variables& overrides, const Variables& inherited) {
    const auto problem = CheckCommand({program, "--epochs=3"}, overrides, inherited);
    text_ = problem ? problem->text : "";
    return problem ? problem->exit_code : 0;
  }
  std::string Folder(const std::string& name) const { return folder_.path() + "/" + name; }

  TemporaryFolder folder_;
  std::string text_;
};

TEST_F(CheckCommandTest, APathIsTakenAsItIs) {
  EXPECT_EQ(Check(Folder("good/train"), {}, {{"PATH", ""}}), 0);
  EXPECT_EQ(Check(Folder("plain/train"), {}, {}), 126);
  EXPECT_EQ(text_, Folder("plain/train") + " is not executable: chmod +x " + Folder("plain/train") +
                       ", or write its interpreter before it");
  EXPECT_EQ(Check(Folder("nested/train"), {}, {}), 126);
  EXPECT_EQ(text_, Folder("nested/train") + " is a folder: write the program that is to run");
  EXPECT_EQ(Check(Folder("none/train"), {}, {}), 127);
  EXPECT_EQ(text_, Folder("none/train") + ": there is no such file");
  EXPECT_EQ(Check(Folder("good/train/x"), {}, {}), 127);
}

TEST_F(CheckCommandTest, PathIsSearchedAsExecvpDoes) {
  const std::string good = Folder("good");
  const std::string plain = Folder("plain");
  EXPECT_EQ(Check("train", {}, {{"PATH", "/nowhere:" + good}}), 0);
  EXPECT_EQ(Check("train", {}, {{"PATH", plain + ":" + good}}), 0) << "one that may not be executed is passed over";
  EXPECT_EQ(Check("train", {}, {{"PATH", plain + ":" + Folder("none")}}), 126);
  EXPECT_THAT(text_, HasSubstr(plain + "/train"));
  EXPECT_EQ(Check("train", {}, {{"PATH", Folder("none")}}), 127);
  EXPECT_EQ(text_, "train: not found in PATH");
  EXPECT_EQ(Check("train", {{"PATH", good}}, {{"PATH", Folder("none")}}), 0) << "--env PATH=... decides";
  EXPECT_EQ(Check("sh", {}, {}), 0) << "without a PATH it is /bin:/usr/bin";
  EXPECT_EQ(Check("", {}, {{"PATH", good}}), 127);
}

TEST_F(CheckCommandTest, AScriptNeedsItsInterpreter) {
  const Variables path = {{"PATH", "/usr/bin:/bin:" + Folder("good")}};
  const struct {
    std::string text;
    int code;
    std::string words;  // after the file's name
  } cases[] = {
      {"#!/bin/sh\n", 0, ""},
      {"#! /bin/sh -e\n", 0, ""},
      {"#!/usr/bin/pyhton3\n", 127, ": its interpreter /usr/bin/pyhton3 (first line) isn't there"},
      {"#!/usr/bin/env pyhton3\n", 127, ": its interpreter pyhton3 (first line) isn't in PATH"},
      {"#!/usr/bin/env sh\n", 0, ""},
      {"#!/usr/bin/env -S sh -e\n", 0, ""},
      {"#!/usr/bin/env A=1 sh\n", 0, ""},
      {"#!/bin/sh\r\n", 127,
       ": its interpreter \"/bin/sh\\r\" (first line) isn't there: its lines end as on Windows; sed -i 's/\\r$//' "
       "fixes that"},
      {"#!/etc/passwd\n", 126, ": its interpreter /etc/passwd (first line) is not executable"},
      {"#!\n", 0, ""},
      {"echo hello\n", 0, ""},
      {"", 0, ""},
      {"#!/" + std::string(5000, 'x'), 0, ""},
  };
  for (const auto& c : cases) {
    folder_.Write("scripts/train.sh", c.text);
    const std::string script = Folder("scripts/train.sh");
    chmod(script.c_str(), 0755);
    EXPECT_EQ(Check(script, {}, path), c.code) << c.text;
    EXPECT_EQ(text_, c.words.empty() ? "" : script + c.words);
  }
}

class AddPythonTest : public CheckCommandTest {
 protected:
  AddPythonTest() {
    for (const char* program : {"bin/python3", "old/python", "tools/run.py"}) {
      folder_.Write(program, "#!/bin/sh\n");
      chmod(Folder(program).c_str(), 0755);
    }
    folder_.Write("plain/train.py", "#!/usr/bin/env python3\n");
    folder_.Write("bare/train.py", "import os\n");
    chmod(Folder("bare/train.py").c_str(), 0755);
    folder_.Write("folder.py/file", "");
  }

  std::vector<std::string> Add(std::vector<std::string> command, const std::string& path) {
    const PythonCommand added = AddPython(command, {}, {{"PATH", path}});
    python_ = added.python;
    code_ = added.problem ? added.problem->exit_code : 0;
    text_ = added.problem ? added.problem->text : "";
    return command;
  }
  std::string python_;
  int code_ = 0;
};

TEST_F(AddPythonTest, APythonFileRunsUnderTheFirstPython) {
  const std::string bin = Folder("bin");
  using Words = std::vector<std::string>;
  EXPECT_EQ(Add({Folder("plain/train.py"), "--lr"}, bin), Words({bin + "/python3", Folder("plain/train.py"), "--lr"}));
  EXPECT_EQ(python_, bin + "/python3");
  EXPECT_EQ(Add({Folder("bare/train.py")}, Folder("old") + ":" + bin),
            Words({bin + "/python3", Folder("bare/train.py")}))
      << "executable, but no first line; python3 goes before python";
  EXPECT_EQ(Add({Folder("plain/train.py")}, Folder("old"))[0], Folder("old/python"));
  EXPECT_EQ(Add({"-m", "pkg.train", "-x"}, bin), Words({bin + "/python3", "-m", "pkg.train", "-x"}));
  EXPECT_EQ(Add({"train_{rank}.py"}, bin), Words({bin + "/python3", "train_{rank}.py"}));
  EXPECT_EQ(code_, 0);
}

TEST_F(AddPythonTest, AChosenPythonRunsWhateverIsFirstInPath) {
  const auto add = [&](std::vector<std::string> command, const std::string& chosen) {
    const PythonCommand added = AddPython(command, {}, {{"PATH", Folder("bin")}}, chosen);
    text_ = added.problem ? added.problem->text : "";
    return command;
  };
  using Words = std::vector<std::string>;
  const std::string python = Folder("old/python");
  EXPECT_EQ(add({Folder("plain/train.py")}, python), Words({python, Folder("plain/train.py")}));
  EXPECT_EQ(add({"-m", "pkg.train"}, python), Words({python, "-m", "pkg.train"}));
  EXPECT_EQ(add({Folder("tools/run.py")}, python), Words({python, Folder("tools/run.py")})) << "with any first line";
  EXPECT_EQ(add({"python", "train.py"}, python), Words({"python", "train.py"})) << "another one was written out";
  EXPECT_EQ(add({"-m", "pkg.train"}, "python3"), Words({"python3", "-m", "pkg.train"}));
  EXPECT_EQ(text_, "");
  add({"-m", "pkg.train"}, Folder("old/none"));
  EXPECT_EQ(text_, "--python " + Folder("old/none") + ": there is no such file");
}

TEST_F(AddPythonTest, WhatRunsAsItStandsStays) {
  using Words = std::vector<std::string>;
  for (const Words& command : {Words{}, {"python", "train.py"}, {Folder("tools/run.py")}, {"train.sh"}, {"m"}}) {
    EXPECT_EQ(Add(command, Folder("bin")), command);
    EXPECT_EQ(python_, "");
    EXPECT_EQ(code_, 0);
  }
  EXPECT_EQ(Add({"run.py"}, Folder("tools")), Words({"run.py"})) << "found in PATH";
}

TEST_F(AddPythonTest, SaysWhatIsMissing) {
  Add({"none.py"}, Folder("bin"));
  EXPECT_EQ(code_, 127);
  EXPECT_EQ(text_, "none.py: there is no such file");
  Add({Folder("folder.py")}, Folder("bin"));
  EXPECT_EQ(code_, 126);
  Add({Folder("plain/train.py")}, Folder("none"));
  EXPECT_EQ(code_, 127);
  EXPECT_EQ(text_, Folder("plain/train.py") + " needs a python, and neither python3 nor python is found in PATH");
  Add({"-m"}, Folder("bin"));
  EXPECT_EQ(code_, 127);
  EXPECT_EQ(text_, "-m: name the module after it, as in -m package.train");
}

TEST_F(CheckCommandTest, WhatIsNotKnownYetIsNotJudged) {
  EXPECT_EQ(Check("/none/train-{rank}", {}, {}), 0);
  EXPECT_FALSE(CheckCommand({}, {}, {}));
}

}  // namespace
}  // namespace muster::agent
