#include "common/command/script_values.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster {
namespace {

// The words of the commands that begin with "run", separated by "|".
std::string Runs(const std::vector<ShellCommand>& commands) {
  std::vector<std::string> runs;
  for (const ShellCommand& each : commands) {
    EXPECT_EQ(each.words.size(), each.typed.size());
    if (!each.words.empty() && each.words[0] == "run") runs.push_back(absl::StrJoin(each.words, "|"));
  }
  return absl::StrJoin(runs, "; ");
}

std::string Certain(const std::string& text) { return Runs(CommandsWithCertainValues(text)); }

TEST(ScriptValues, ThoseThatAreCertain) {
  const struct {
    std::string text, runs;
  } cases[] = {
      {"N=8; run $N ${N} x$N \"$N\" '$N' \\$N", "run|8|8|x8|8|$N|$N"},
      {"export N=8 M=4; run $N $M", "run|8|4"},
      {"N=8; export N; run $N", "run|8"},
      {"N=1; N=2; run $N", "run|2"},
      {"A='a b'; run $A \"$A\"", "run|a|b|a b"},
      {"A=(a 'b c' # d\n e); run \"${A[@]}\" ${A[*]}", "run|a|b c|e|a|b c|e"},
      {"A=a; A+=b; run $A", "run|ab"},
      {"A=(a); A+=(b); run \"${A[@]}\"", "run|a|b"},
      {"A=\"--x $M\"; run $A", "run|--x|$M"},
      {"A=; run $A b", "run|b"},
      {"cd x && N=4 && run $N", "run|4"},
      {"if x; then N=8; run $N; else N=2; run $N; fi", "run|8; run|2"},
      {"f() { local N=8; run $N; }", "run|8"},
      {"N=8; f() { run $N; }; f", "run|8"},
      {"N=4; if ((N > 2)); then x; fi; run $N", "run|4"},
      {"(N=4; run $N)", "run|4"},
      {"true && { N=3; run $N; }\nN=5\nrun $N", "run|3; run|5"},
  };
  for (const auto& c : cases) EXPECT_EQ(Certain(c.text), c.runs) << c.text;
}

TEST(ScriptValues, ThoseThatAreNot) {
  for (const std::string text : {
           "run $N; N=8",
           "N=8 run $N",
           "N=$(nproc); run $N",
           "N=`nproc`; run $N",
           "N=${N:-8}; run $N",
           "export N=${N:-8}; run $N",
           "N=$1; run $N",
           "N=$2; run $N",
           "N=\"x $@\"; run $N",
           "N=8; N+=$(x); run $N",
           "N+=8; run $N",
           "N='$M'; run $N",
           "N=8; if [ \"$D\" = 1 ]; then N=1; fi; run $N",
           "if x; then N=1; else N=2; fi; run $N",
           "N=8; [[ $D ]] && N=1; run $N",
           "[ -n \"$N\" ] || N=8\nrun $N",
           "a || N=1 && run $N",
           "N=8; case $1 in a) N=1;; esac; run $N",
           "case $1 in a) N=1;; b) run $N;; esac",
           "for ((N=0;N<2;N++)); do run $N; done",
           "N=0; for N in 0 1; do run $N; done",
           "N=0; select N in 0 1; do run $N; done",
           "N=1; while x; do run $N; N=2; done",
           "N=1; until x; do run $N; N=$((N * 2)); done",
           "N=1; while x; do run $N; ((N++)); done",
           "N=1; while x; do run $N; let N++; done",
           "N=1; for a in b; do for c in d; do run $N; done; N=2; done",
           "N=0; read -r N; run $N",
           "N=0; while read N; do run $N; done < f",
           "N=0; unset N; run $N",
           "N=0; ((N+=2)); run $N",
           "N=0; printf -v N %d 3; run $N",
           "N=0; source env.sh; run $N",
           "N=0; . ./env.sh; run $N",
           "N=0; eval \"$(x)\"; run $N",
           "f() { N=1; }; N=8; f; run $N",
           "N=8; f() { run $N; }; N=4; f",
           "f() { run $N; }; N=4; f",
           "(N=4); run $N",
           "x | { N=4; }; run $N",
       }) {
    EXPECT_EQ(Certain(text), "run|$N") << text;
  }
  EXPECT_EQ(Certain("A=\"--x $M\"; for M in 0 1; do run $A; done"), "run|$A");
}

TEST(ScriptValues, WordsStayAsTheyAreTyped) {
  const auto typed = [](const std::string& text) {
    return absl::StrJoin(CommandsWithCertainValues(text).back().typed, "|");
  };
  EXPECT_EQ(typed("N=8; run $N \"$N\"/x '$N'"), "run|$N|\"$N\"/x|'$N'");
  EXPECT_EQ(typed("A='a b'; run $A c"), "run|$A||c");
  EXPECT_EQ(typed("A=(a b); run \"${A[@]}\" c"), "run|\"${A[@]}\"||c");
  EXPECT_EQ(typed("A=; run x $A c"), "run|x $A|c");
}

TEST(ScriptValues, LikelyOnesAreTheLastAbove) {
  const auto likely = [](const std::string& text) { return Runs(CommandsWithLikelyValues(text, {"x", "y z"})); };
  EXPECT_EQ(likely("N=8; if a; then N=1; fi; run $N"), "run|1");
  EXPECT_EQ(likely("run \"$@\" b"), "run|x|y z|b");
  EXPECT_EQ(likely("A=\"a $@\"; run $A"), "run|a|$@");
  EXPECT_EQ(likely("N=8; N=$(x); run $N"), "run|$N");
}

TEST(ScriptValues, ManyAssignmentsInManyBlocksAreBounded) {
  std::string text;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, "f() { A", i, "=1; }\n");
  for (int i = 0; i < 5000; ++i) absl::StrAppend(&text, "B", i, "=1 ");
  EXPECT_EQ(Certain(text + "\nrun $B7 $A7"), "run|1|$A7");
  std::string doubled = "A='x x x x'\n";
  for (int i = 0; i < 30; ++i) doubled += "A=$A$A\n";
  for (int i = 0; i < 500; ++i) doubled += "run $A\n";
  size_t bytes = 0;
  for (const ShellCommand& each : CommandsWithCertainValues(doubled)) {
    for (const std::string& word : each.words) bytes += word.size();
  }
  EXPECT_LE(bytes, size_t{200} << 10);
}

}  // namespace
}  // namespace muster
