#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/settings/given_values.h"
#include "common/settings/settings.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Args = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

TEST(GivenValues, CountNoLongerUnlessTheyWereChanged) {
  const Variables given = {{"MASTER_PORT", "40000"}, {"MS_WORKER_NUM", "1"}, {"RANK", "0"}};
  Variables environment = given;
  environment[kGivenVariable] = GivenValues(given);
  environment["MS_WORKER_NUM"] = "3";
  environment["HOME"] = "/root";
  DropGivenValues(environment);
  EXPECT_EQ(environment, (Variables{{"HOME", "/root"}, {"MS_WORKER_NUM", "3"}}));
}

TEST(GivenValues, AreNotBelievedBlindly) {
  for (const std::string& text :
       {std::string(), std::string("RANK"), std::string("RANK="), std::string(",,=,"), std::string("RANK=00"),
        absl::StrCat("WORLD_", GivenValues({{"RANK", "0"}})), std::string(1 << 20, ',')}) {
    Variables environment = {{"RANK", "0"}, {kGivenVariable, text}};
    DropGivenValues(environment);
    EXPECT_EQ(environment, (Variables{{"RANK", "0"}})) << text.substr(0, 40);
  }
}

// The settings of a small program.
struct Demo {
  Demo() {
    table.AddOptionalUint("worker_num", &worker_num, 1, 100, "Workers.").Env({"MS_WORKER_NUM"}).Alias({"workers"});
    table.AddPort("port", &port, "Port.").Env({"MS_PORT", "PORT"});
    table.AddBool("once", &once, "Once.").Env({"MS_ONCE"});
    table.AddStrings("label", &labels, "Labels.").Env({"MS_LABEL"});
    table.AddString("log_dir", &log_dir, "Folder.").Env({"MS_LOG_DIR"});
    table.AddSeconds("node_timeout", &node_timeout, absl::Seconds(1), absl::Seconds(900), "Lease.");
    table.AddChoice("format", &format, {"text", "json"}, "Format.");
    table.AddIgnored("tail", "RANKS", {"MS_TAIL"}).on_set = [this](const std::string& value,
                                                                   const std::string& source) {
      ignored.push_back(absl::StrCat(value, "@", source));
    };
    table.Forbid("nnodes", "write --worker_num");
  }
  LoadResult Load(const Args& args, const Variables& variables = {}, bool first_word_is_command = false) {
    return LoadSettings(table, args, variables, first_word_is_command);
  }

  SettingsTable table{"demo", "demo [settings]", "A demo."};
  std::optional<uint32_t> worker_num;
  uint16_t port = 8118;
  bool once = false;
  std::vector<std::string> labels;
  std::string log_dir;
  absl::Duration node_timeout = absl::Seconds(600);
  std::string format = "text";
  std::vector<std::string> ignored;
};

class ConfigOnDisk {
 public:
  explicit ConfigOnDisk(const std::string& text) { std::ofstream(path) << text; }
  ~ConfigOnDisk() { std::remove(path.c_str()); }
  const std::string path = absl::StrCat(::testing::TempDir(), "/load_test.", getpid(), ".conf");
};

TEST(LoadSettings, FlagBeatsVariableBeatsConfigBeatsDefault) {
  const ConfigOnDisk config("worker_num = 3\nport = 3333\nlog_dir = /c\n");
  Demo demo;
  const LoadResult result =
      demo.Load({"--config", config.path, "--worker_num=1"}, {{"MS_WORKER_NUM", "2"}, {"MS_PORT", "2222"}});
  EXPECT_THAT(result.findings.errors, IsEmpty());
  EXPECT_EQ(demo.worker_num, 1u);
  EXPECT_EQ(demo.port, 2222);
  EXPECT_EQ(demo.log_dir, "/c");
  EXPECT_EQ(result.sources.at("worker_num"), "--worker_num");
  EXPECT_EQ(result.sources.at("port"), "MS_PORT");
  EXPECT_EQ(result.sources.at("log_dir"), absl::StrCat(config.path, ":3"));
  EXPECT_EQ(result.sources.at("once"), "default");
}

TEST(LoadSettings, FlagsComeInAllForms) {
  for (const Args& args : {Args{"--worker_num", "8"}, Args{"--worker-num", "8"}, Args{"--worker_num=8"},
                           Args{"--worker-num=8"}, Args{"--workers", "8"}, Args{"--worker_num=7", "--workers=8"}}) {
    Demo demo;
    const LoadResult result = demo.Load(args);
    EXPECT_THAT(result.findings.errors, IsEmpty()) << args[0];
    EXPECT_EQ(demo.worker_num, 8u) << args[0];
  }
}

TEST(LoadSettings, SwitchesTakeAValueOnlyWhenItIsOne) {
  const struct {
    Args args;
    bool first_word_is_command;
    bool once;
    Args command;
  } cases[] = {
      {{"--once"}, false, true, {}},
      {{"--once=0"}, false, false, {}},
      {{"--once=no"}, false, false, {}},
      {{"--once", "0", "--", "x"}, true, false, {"x"}},
      {{"--once", "1", "python"}, true, true, {"python"}},
      {{"--once", "true"}, true, true, {"true"}},            // this is the program `true`
      {{"--once", "false", "--", "x"}, true, false, {"x"}},  // this is the value: the command has its own --
      {{"--once", "false"}, false, false, {}},
      {{"--once", "python", "--once=0"}, true, true, {"python", "--once=0"}},
  };
  for (const auto& c : cases) {
    Demo demo;
    const LoadResult result = demo.Load(c.args, {}, c.first_word_is_command);
    EXPECT_THAT(result.findings.errors, IsEmpty());
    EXPECT_EQ(demo.once, c.once) << absl::StrCat(c.args[0], " ", c.args.back());
    EXPECT_EQ(result.command, c.command);
  }
}

TEST(LoadSettings, SeparatesCommandFromPositionalWords) {
  Demo demo;
  EXPECT_THAT(demo.Load({"status", "--once", "job"}).positional, ElementsAre("status", "job"));
  EXPECT_THAT(demo.Load({"--once", "--", "python", "--x", "--"}).command, ElementsAre("python", "--x", "--"));
  EXPECT_THAT(demo.Load({"--once", "python", "--worker_num", "x"}, {}, true).command,
              ElementsAre("python", "--worker_num", "x"));
}

TEST(LoadSettings, AnEmptyVariableCountsAsNotSet) {
  Demo demo;
  const LoadResult result = demo.Load({}, {{"MS_WORKER_NUM", ""}, {"MS_PORT", ""}, {"PORT", "5000"}});
  EXPECT_THAT(result.findings.errors, IsEmpty());
  EXPECT_FALSE(demo.worker_num);
  EXPECT_EQ(demo.port, 5000);
  EXPECT_EQ(result.sources.at("port"), "PORT");
}

TEST(LoadSettings, RepeatedSettingsCollectTheValuesOfOneSource) {
  Demo demo;
  demo.Load({"--label", "a=1", "--label=b=2"}, {{"MS_LABEL", "c=3"}});
  EXPECT_THAT(demo.labels, ElementsAre("a=1", "b=2"));
}

TEST(LoadSettings, ErrorsNameSettingValueSourceRuleAndRemedy) {
  const ConfigOnDisk config("worker_num = many\n");
  Demo demo;
  const LoadResult result = demo.Load({"--config=" + config.path, "--node_timeout", "-5", "--format=xml"},
                                      {{"MS_PORT", "80"}, {"MS_ONCE", "perhaps"}});
  EXPECT_THAT(
      result.findings.errors,
      ElementsAre(absl::StrCat("worker_num: \"many\" (from ", config.path,
                               ":1) must be a whole number from 1 to 100; correct the line or remove it"),
                  "port: \"80\" (from MS_PORT) must be a port from 1024 to 65535, or 0 for one that the kernel "
                  "chooses; correct the variable or unset it",
                  "once: \"perhaps\" (from MS_ONCE) must be 1 or 0 (also true or false, yes or no); correct the "
                  "variable or unset it",
                  "node_timeout: \"-5\" (from --node_timeout) must be a time from 1 s to 900 s, in seconds or "
                  "with a unit (500ms, 10s, 5m, 2h); correct the flag or leave it out",
                  "format: \"xml\" (from --format) must be one of: text, json; correct the flag or leave it out"));
}

TEST(LoadSettings, AFlagReplacesABadVariable) {
  Demo demo;
  EXPECT_THAT(demo.Load({"--worker_num=8"}, {{"MS_WORKER_NUM", "x"}}).findings.errors, IsEmpty());
}

TEST(LoadSettings, OfAFlagGivenTwiceOnlyTheLastIsJudged) {
  Demo demo;
  EXPECT_THAT(demo.Load({"--worker_num=x", "--workers=8"}).findings.errors, IsEmpty());
  EXPECT_EQ(demo.worker_num, 8u);
}

TEST(LoadSettings, BadFlagsAreAllFoundAndSwallowNothing) {
  Demo demo;
  const LoadResult result = demo.Load(
      {"--workr_num", "8", "--nnodes", "2", "-x", "--epochs=3", "--port", "--once", "python", "--lr"}, {}, true);
  EXPECT_THAT(
      result.findings.errors,
      ElementsAre(
          "unknown flag --workr_num: did you mean --worker_num?", "--nnodes: write --worker_num",
          "unknown flag -x: `demo --help-all` lists all flags; the command and its own flags come after --",
          "unknown flag --epochs: `demo --help-all` lists all flags; the command and its own flags come after --",
          "--port needs a value: write --port=PORT"));
  EXPECT_TRUE(demo.once);
  EXPECT_THAT(result.command, ElementsAre("python", "--lr"));
}

TEST(LoadSettings, AModuleBeginsTheCommand) {
  Demo demo;
  const LoadResult result = demo.Load({"--worker_num", "4", "-m", "pkg.train", "--lr", "1"}, {}, true);
  EXPECT_THAT(result.findings.errors, IsEmpty());
  EXPECT_THAT(result.command, ElementsAre("-m", "pkg.train", "--lr", "1"));
  EXPECT_EQ(demo.worker_num, 4u);
  EXPECT_THAT(demo.Load({"--once", "train.py", "-n", "3"}, {}, true).command, ElementsAre("train.py", "-n", "3"));
  EXPECT_THAT(demo.Load({"-m", "pkg.train"}).findings.errors, testing::Not(IsEmpty())) << "a program without a command";
}

TEST(LoadSettings, ARuleAtTheEndSeesAllValues) {
  Demo demo;
  demo.table.AtEnd([&demo](LoadResult& loaded) {
    if (demo.port != 8118 && demo.once) loaded.findings.errors.push_back("from " + loaded.sources["port"]);
  });
  EXPECT_THAT(demo.Load({"--once"}).findings.errors, IsEmpty());
  EXPECT_THAT(demo.Load({"--once", "--port=9000"}).findings.errors, ElementsAre("from --port"));
}

TEST(LoadSettings, ControlCharactersAreShownAndRefused) {
  Demo demo;
  EXPECT_THAT(
      demo.Load({"--log_dir=a\nb"}).findings.errors,
      ElementsAre("log_dir: \"a\\nb\" (from --log_dir) must not have control characters (a line end, a tab, …); "
                  "correct the flag or leave it out"));
}

TEST(LoadSettings, NearMissesAreWarnedOf) {
  Demo demo;
  const LoadResult result =
      demo.Load({}, {{"MS_WORKR_NUM", "8"}, {"MS_DEV_PORT", "1"}, {"WORKR_NUM", "8"}, {"MS_UNHEARD_OF", "1"}});
  EXPECT_THAT(result.findings.errors, IsEmpty());
  EXPECT_THAT(result.findings.warnings,
              ElementsAre("MS_WORKR_NUM is set, but has no effect: did you mean MS_WORKER_NUM?"));
}

TEST(LoadSettings, IgnoredSettingsAreNeverJudged) {
  Demo demo;
  const LoadResult result = demo.Load({"--tail", "anything"}, {{"MS_TAIL", "x"}});
  EXPECT_THAT(result.findings.errors, IsEmpty());
  EXPECT_THAT(demo.ignored, ElementsAre("anything@--tail"));
}

TEST(LoadSettings, APathMayBeginWithAHomeFolderWhereverItIsWritten) {
  const ConfigOnDisk config("state = ~/from-file\n");
  struct Paths : Demo {
    Paths() {
      table.AddString("state", &state, "Folder.").Value("FOLDER").Env({"MS_STATE"}).Absolute();
      table.AddString("socket", &socket, "Socket.").Value("PATH").Env({"MS_SOCKET"});
      table.AddString("note", &note, "No path.");
    }
    std::string state, socket, note;
  };
  Variables variables = {{"HOME", "/home/ada"}};
  Paths from_file;
  EXPECT_THAT(from_file.Load({"--config", config.path, "--note=~/x"}, variables).findings.errors, IsEmpty());
  EXPECT_EQ(from_file.state, "/home/ada/from-file");
  EXPECT_EQ(from_file.note, "~/x");
  variables["MS_STATE"] = "~/from-variable";
  Paths from_variable;
  EXPECT_THAT(from_variable.Load({"--socket=~/s"}, variables).findings.errors, IsEmpty());
  EXPECT_EQ(from_variable.state, "/home/ada/from-variable");
  EXPECT_EQ(from_variable.socket, "/home/ada/s");
  Paths relative;
  EXPECT_THAT(relative.Load({"--state=a", "--socket=s"}, variables).findings.errors, IsEmpty());
  EXPECT_EQ(relative.state.front(), '/');
  EXPECT_EQ(relative.socket, "s") << "a socket's path is short, and no other process gets it";
  Paths unknown;
  EXPECT_THAT(unknown.Load({"--state=~no-such-user/x"}, variables).findings.errors,
              ElementsAre(::testing::AllOf(::testing::HasSubstr("state: \"~no-such-user/x\" (from --state)"),
                                           ::testing::HasSubstr("no user"))));
  EXPECT_THAT(unknown.Load({"--config=~no-such-user/x"}, variables).findings.errors,
              ElementsAre(::testing::HasSubstr("no user")));
}

TEST(LoadSettings, HelpAndVersionAreDistinguished) {
  Demo demo;
  EXPECT_TRUE(demo.Load({"--help"}).wants_help);
  EXPECT_TRUE(demo.Load({"-h"}).wants_help);
  EXPECT_FALSE(demo.Load({"--help"}).wants_all_help);
  for (const char* word : {"--help-all", "--help_all"}) {
    EXPECT_TRUE(demo.Load({word}).wants_help);
    EXPECT_TRUE(demo.Load({word}).wants_all_help);
  }
  EXPECT_TRUE(demo.Load({"--version"}).wants_version);
  EXPECT_FALSE(demo.Load({"--", "--help"}).wants_help);
  EXPECT_THAT(demo.Load({"--config"}).findings.errors, ElementsAre("--config needs a value: write --config=FILE"));
}

TEST(ProcessEnvironment, HasWhatWasSet) {
  setenv("MUSTER_LOAD_TEST", "a=b", 1);
  EXPECT_EQ(ProcessEnvironment().at("MUSTER_LOAD_TEST"), "a=b");
  unsetenv("MUSTER_LOAD_TEST");
}

}  // namespace
}  // namespace muster
