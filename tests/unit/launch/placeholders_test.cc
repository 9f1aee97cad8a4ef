#include "worker_agent/launch/environment/placeholders.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

const Placeholders kValues = {{"rank", "3"}, {"world_size", "16"}, {"node_id", "{rank}"}};

TEST(Placeholders, Table) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"--rank={rank}", "--rank=3"},
      {"{rank}/{world_size}", "3/16"},
      {"{rank}{rank}", "33"},
      {"{{rank}}", "{rank}"},
      {"x{{rank}}y{rank}", "x{rank}y3"},
      {"{node_id}", "{rank}"},  // a value is not searched again
      {"{epoch:03d}", "{epoch:03d}"},
      {"{ rank }", "{ rank }"},
      {"{RANK}", "{RANK}"},
      {"{}", "{}"},
      {"{", "{"},
      {"{rank", "{rank"},
      {"rank}", "rank}"},
      {"{{", "{{"},
      {"{{rank}", "{3"},
      {"{rank}}", "3}"},
      {"{{{rank}}}", "{{rank}}"},
      {R"({"a":{"b":{rank}}})", R"({"a":{"b":3}})"},
      {R"({"lr":{"x":1}})", R"({"lr":{"x":1}})"},
      {"{unknown {rank}", "{unknown 3"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(FillPlaceholders(std::string(text), kValues), expected) << text;
}

TEST(Placeholders, ALongArgumentOfBracesIsNoWork) {
  const std::string braces(1 << 20, '{');
  EXPECT_EQ(FillPlaceholders(braces, kValues), braces);
}

TEST(Placeholders, AllArguments) {
  const std::vector<std::string> filled = FillPlaceholders(std::vector<std::string>{"train.py", "{rank}"}, kValues);
  EXPECT_EQ(filled, (std::vector<std::string>{"train.py", "3"}));
}

}  // namespace
}  // namespace muster::agent
