#include "worker_agent/launch/command_check.h"

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

  // The exit code, 0 when nothing is wrong; the words are kept.
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
  EXPECT_THAT(text_, HasSubstr("is not executable"));
  EXPECT_EQ(Check(Folder("nested/train"), {}, {}), 126);
  EXPECT_THAT(text_, HasSubstr("is a folder"));
  EXPECT_EQ(Check(Folder("none/train"), {}, {}), 127);
  EXPECT_EQ(text_, "the command \"" + Folder("none/train") + "\" is not there; correct the command behind --");
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
  EXPECT_EQ(text_,
            "the command \"train\" is not found in PATH (\"" + Folder("none") + "\"); correct the command behind --");
  EXPECT_EQ(Check("train", {{"PATH", good}}, {{"PATH", Folder("none")}}), 0) << "--env PATH=... decides";
  EXPECT_EQ(Check("sh", {}, {}), 0) << "without a PATH it is /bin:/usr/bin";
  EXPECT_EQ(Check("", {}, {{"PATH", good}}), 127);
}

TEST_F(CheckCommandTest, WhatIsNotKnownYetIsNotJudged) {
  EXPECT_EQ(Check("/none/train-{rank}", {}, {}), 0);
  EXPECT_FALSE(CheckCommand({}, {}, {}));
}

}  // namespace
}  // namespace muster::agent
