#include "worker_agent/launch_error/one_word.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(OneWordHint, SaysHowToTypeIt) {
  struct {
    std::vector<std::string> command;
    const char* typed;
  } const kCases[] = {
      {{"/usr/bin/python3 run.py --lr 0.1"}, "-- /usr/bin/python3 run.py --lr 0.1"},
      {{"python train.py", "--lr", "0.1"}, "-- python train.py --lr 0.1"},
      {{" python train.py "}, "-- python train.py"},
      {{"-m pkg.train --x"}, "-- -m pkg.train --x"},
      {{"run.py --name 'a b'"}, "-- run.py --name 'a b'"},
      {{"python a.py", "two words", ""}, "-- python a.py 'two words' ''"},
      {{"cd x && python a.py"}, "-- sh -c 'cd x && python a.py'"},
      {{"python a.py | tee log"}, "-- sh -c 'python a.py | tee log'"},
      {{"python a.py --rank $RANK"}, "-- sh -c 'python a.py --rank $RANK'"},
      {{"OMP_NUM_THREADS=4 python a.py"}, "-- sh -c 'OMP_NUM_THREADS=4 python a.py'"},
      {{"echo 'it' && true"}, "-- sh -c 'echo '\\''it'\\'' && true'"},
  };
  for (const auto& one : kCases) {
    const std::string hint = OneWordHint(one.command);
    EXPECT_THAT(hint, HasSubstr("one word with spaces")) << one.typed;
    EXPECT_THAT(hint, EndsWith(one.typed));
  }
}

TEST(OneWordHint, SaysNothingOfAName) {
  EXPECT_EQ(OneWordHint({}), "");
  EXPECT_EQ(OneWordHint({""}), "");
  EXPECT_EQ(OneWordHint({"train.py", "two words"}), "");
  EXPECT_EQ(OneWordHint({" train.py"}), "");
}

TEST(OneWordHint, IsOneShortLine) {
  const std::string hint = OneWordHint({"python a.py\nrm \x01 " + std::string(10'000, 'x'), std::string(10'000, 'y')});
  EXPECT_LT(hint.size(), 400U);
  EXPECT_EQ(hint.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace muster::agent
