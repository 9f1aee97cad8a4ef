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
      {"{node_id}", "{rank}"},  // values are not searched again
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

TEST(Placeholders, AnIpv6AddressBeforeAPortGetsBrackets) {
  const Placeholders values = {
      {"master_addr", "fd00::1"}, {"master_port", "29500"}, {"master", "[fd00::1]:29500"}, {"rank", "3"}};
  const std::pair<const char*, const char*> cases[] = {
      {"tcp://{master_addr}:{master_port}", "tcp://[fd00::1]:29500"},
      {"tcp://{master}/x", "tcp://[fd00::1]:29500/x"},
      {"tcp://{master_addr}:29501", "tcp://[fd00::1]:29501"},
      {"tcp://[{master_addr}]:29501", "tcp://[fd00::1]:29501"},
      {"--addr={master_addr}", "--addr=fd00::1"},
      {"{master_addr}: up", "fd00::1: up"},
      {"{master_addr}:", "fd00::1:"},
      {"{rank}:{master_port}", "3:29500"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(FillPlaceholders(std::string(text), values), expected) << text;
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
