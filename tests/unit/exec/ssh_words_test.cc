#include "worker_agent/gateway/exec/program/ssh_words.h"

#include <gtest/gtest.h>

namespace muster::exec {
namespace {

using Words = std::vector<std::string>;

TEST(SshWordsTest, WhatLaunchersSay) {
  const struct {
    Words words;
    std::string host;
    std::string command;
  } cases[] = {
      {{"node1", "true"}, "node1", "true"},
      // Open MPI: a leading blank, and quotes that only a shell removes.
      {{"10.0.0.2", " orted", "-mca", "ess", "\"env\"", "tcp://10.0.0.1:5;tcp://10.1.0.1:5"},
       "10.0.0.2",
       " orted -mca ess \"env\" tcp://10.0.0.1:5;tcp://10.1.0.1:5"},
      // plm_rsh_args come before the host.
      {{"-p", "12345", "node1", "orted"}, "node1", "orted"},
      {{"-p12345", "-x", "node1", "orted"}, "node1", "orted"},
      // Hydra.
      {{"-x", "me@10.0.0.2", "\"/usr/bin/hydra_pmi_proxy\"", "--control-port", "vm:1"},
       "10.0.0.2",
       "\"/usr/bin/hydra_pmi_proxy\" --control-port vm:1"},
      // Horovod: options after the host.
      {{"-o", "PasswordAuthentication=no", "-o", "StrictHostKeyChecking=no", "node1", "-p", "22", "-i", "key", "-o",
        "ConnectTimeout=10", "true"},
       "node1",
       "true"},
      {{"-oBatchMode=yes", "-qTx", "-l", "me", "node1", "echo", "-n", "a  b"}, "node1", "echo -n a  b"},
      {{"--", "node1", "true"}, "node1", "true"},
      {{"node1", "--", "-x"}, "node1", "-x"},
      {{"ssh://me@node1:22/", "true"}, "node1", "true"},
      {{"ssh://[fd00::1]:22", "true"}, "fd00::1", "true"},
      {{"fd00::1", "true"}, "fd00::1", "true"},
      {{"me@dom@node1", "true"}, "node1", "true"},
  };
  for (const auto& c : cases) {
    const absl::StatusOr<SshWords> parsed = ParseSshWords(c.words);
    ASSERT_TRUE(parsed.ok()) << c.command << ": " << parsed.status();
    EXPECT_EQ(parsed->host, c.host) << c.command;
    EXPECT_EQ(parsed->command, c.command);
    EXPECT_TRUE(parsed->takes_stdin) << c.command;
  }
  EXPECT_FALSE(ParseSshWords({"-n", "node1", "true"})->takes_stdin);
  EXPECT_FALSE(ParseSshWords({"-f", "node1", "true"})->takes_stdin);
  EXPECT_EQ(ParseSshWords({"-1", "-2", "node1", "true"})->host, "node1");
  EXPECT_TRUE(ParseSshWords({"-V"})->asks_version);
}

// A command for a host that is not in the round may be meant for another ssh.
TEST(SshWordsTest, WhatIsNotServedHasItsHost) {
  const struct {
    Words words;
    std::string cannot;
  } cases[] = {
      {{"node1"}, "no command was given, and there are no login shells: ssh HOST COMMAND …"},
      {{"-N", "node1"}, "-N is not supported: only commands can be run on other nodes"},
      {{"-L", "1:a:2", "node1", "true"}, "-L is not supported: only commands can be run on other nodes"},
      {{"-x", "node1", "-s", "sftp"}, "-s is not supported: only commands can be run on other nodes"},
      {{"-W", "a:22", "node1"}, "-W is not supported: only commands can be run on other nodes"},
  };
  for (const auto& c : cases) {
    const absl::StatusOr<SshWords> parsed = ParseSshWords(c.words);
    ASSERT_TRUE(parsed.ok()) << c.cannot << ": " << parsed.status();
    EXPECT_EQ(parsed->cannot, c.cannot);
    EXPECT_EQ(parsed->host, "node1");
  }
}

TEST(SshWordsTest, WhatIsNotServed) {
  const struct {
    Words words;
    std::string error;
  } cases[] = {
      {{}, "no host was named"},
      {{"-q"}, "no host was named"},
      {{"-p"}, "-p needs a value"},
      {{"-Q", "cipher"}, "-Q is not supported: only commands can be run on other nodes"},
      {{"-Z", "node1", "true"}, "-Z is no option of ssh"},
      {{"me@", "true"}, "the host's name is empty"},
  };
  for (const auto& c : cases) EXPECT_EQ(ParseSshWords(c.words).status().message(), c.error);
}

}  // namespace
}  // namespace muster::exec
