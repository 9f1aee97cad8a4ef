// A real bash runs the completion script, with a stand-in for ms-ctl that knows two jobs.
#include "ctl/commands/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::ctl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns the offers of TAB after `words`; the last word is being typed. No word may have a single quote.
std::vector<std::string> Offers(const std::vector<std::string>& words, const std::string& function = "_ms_ctl") {
  std::string script =
      BashCompletion({{"status", "ranks", "counters", "stacks", "watch", "stop", "certs", "completion"},
                      {"--json", "--job", "--run", "--sched_host"},
                      {"init", "node", "show"},
                      {"--json", "--dir", "--days"},
                      {"stop", "stacks"},
                      {"--standalone", "--worker_num=", "--log_dir=file", "--log_format=text|json"},
                      {"--once", "--log_file=file"}});
  absl::StrAppend(&script, "\nms-ctl() { [[ \"$*\" == 'completion jobs' ]] && printf 'alpha\\nbeta\\n'; }\n");
  absl::StrAppend(&script, "COMP_WORDS=(ms-ctl");
  for (const std::string& word : words) absl::StrAppend(&script, " '", word, "'");
  absl::StrAppend(&script, ")\nCOMP_CWORD=", words.size(), "\n", function, "\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
  const std::string path = testing::TempDir() + "/ms_ctl_completion_test." + std::to_string(getpid());
  FILE* file = fopen(path.c_str(), "w");
  fputs(script.c_str(), file);
  fclose(file);
  FILE* bash = popen(absl::StrCat("bash '", path, "' 2>&1").c_str(), "r");
  std::string line;
  std::vector<std::string> out;
  for (int c = fgetc(bash); c != EOF; c = fgetc(bash)) {
    if (c != '\n') {
      line += static_cast<char>(c);
    } else if (!line.empty()) {
      out.push_back(std::move(line));
      line.clear();
    }
  }
  EXPECT_EQ(pclose(bash), 0);
  remove(path.c_str());
  return out;
}

TEST(Completion, OffersCommands) {
  EXPECT_THAT(Offers({""}), Contains("status"));
  EXPECT_THAT(Offers({"st"}), ElementsAre("status", "stacks", "stop"));
  EXPECT_THAT(Offers({"--json", "wa"}), ElementsAre("watch"));
}

TEST(Completion, OffersFlags) {
  EXPECT_THAT(Offers({"status", "--j"}), ElementsAre("--json", "--job"));
  EXPECT_THAT(Offers({"--r"}), ElementsAre("--run"));
}

TEST(Completion, OffersTheSchedulersJobsWhereAJobIsWanted) {
  EXPECT_THAT(Offers({"status", "--job", ""}), ElementsAre("alpha", "beta"));
  EXPECT_THAT(Offers({"stop", "b"}), ElementsAre("beta"));
  EXPECT_THAT(Offers({"stacks", ""}), ElementsAre("alpha", "beta"));
}

TEST(Completion, AFlagsValueIsNoCommand) {
  EXPECT_THAT(Offers({"--job", "alpha", "ra"}), ElementsAre("ranks"));
  EXPECT_THAT(Offers({"--run", ""}), IsEmpty());
}

TEST(Completion, OffersNothingAfterACommandWithoutArgument) {
  EXPECT_THAT(Offers({"counters", ""}), IsEmpty());
  EXPECT_THAT(Offers({"completion", ""}), ElementsAre("bash", "fish", "zsh"));
  EXPECT_THAT(Offers({"help", "sta"}), ElementsAre("status", "stacks"));
}

TEST(Completion, KnowsTheWorkersSettingsAndItsCommand) {
  EXPECT_THAT(Offers({"--wo"}, "_ms_worker"), ElementsAre("--worker_num"));
  EXPECT_THAT(Offers({"--log_format", ""}, "_ms_worker"), ElementsAre("text", "json"));
  EXPECT_THAT(Offers({"--log_format", "=", "j"}, "_ms_worker"), ElementsAre("json")) << "as bash splits it";
  EXPECT_THAT(Offers({"--log_dir", "/etc/pass"}, "_ms_worker"), Contains("/etc/passwd"));
  EXPECT_THAT(Offers({"--worker_num", ""}, "_ms_worker"), IsEmpty());
  EXPECT_THAT(Offers({"--worker_num", "4", "--standalone", "bas"}, "_ms_worker"), Contains("bash"));
  EXPECT_THAT(Offers({"python", "--wo"}, "_ms_worker"), IsEmpty()) << "the command's own flags";
  EXPECT_THAT(Offers({"--", "cat", "/etc/pass"}, "_ms_worker"), Contains("/etc/passwd"));
}

TEST(Completion, KnowsTheSchedulersSettings) {
  EXPECT_THAT(Offers({"--"}, "_ms_scheduler"), ElementsAre("--once", "--log_file"));
  EXPECT_THAT(Offers({"bas"}, "_ms_scheduler"), IsEmpty());
}

TEST(Completion, OffersTheCommandsAndFlagsOfCerts) {
  EXPECT_THAT(Offers({"ce"}), ElementsAre("certs"));
  EXPECT_THAT(Offers({"certs", ""}), ElementsAre("init", "node", "show"));
  EXPECT_THAT(Offers({"certs", "--dir", "status", "n"}), ElementsAre("node"));
  EXPECT_THAT(Offers({"certs", "init", "--d"}), ElementsAre("--dir", "--days"));
  EXPECT_THAT(Offers({"certs", "init", ""}), IsEmpty());
  EXPECT_THAT(Offers({"certs", "show", "/etc/pass"}), Contains("/etc/passwd"));
}

}  // namespace
}  // namespace muster::ctl
