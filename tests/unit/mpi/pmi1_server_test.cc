#include "worker_agent/gateway/mpi/pmi1_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

#include "common/store/memory_job_store.h"
#include "tests/unit/common/manual_clock.h"
#include "tests/unit/mpi/sample_layout.h"

namespace muster::agent {
namespace {

class Pmi1ServerTest : public testing::Test {
 protected:
  void Begin(uint32_t agents, uint32_t ranks) {
    for (uint32_t i = 0; i < agents; ++i) {
      auto server =
          Pmi1Server::Start(SampleLayout(agents, ranks, i), store_, clock_, [this](uint32_t slot) { ended_ = slot; });
      ASSERT_TRUE(server.ok()) << server.status();
      servers_.push_back(*std::move(server));
      for (uint32_t slot = 0; slot < ranks; ++slot) ranks_.push_back(servers_.back()->TakeDescriptor(slot));
    }
  }
  void Say(uint32_t rank, const std::string& text) {
    ASSERT_EQ(::send(ranks_[rank]->get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // Reads until the end of a line, or of the connection.
  std::string Hear(uint32_t rank) {
    std::string line;
    char letter = 0;
    while (::recv(ranks_[rank]->get(), &letter, 1, 0) == 1) {
      if (letter == '\n') return line;
      line.push_back(letter);
    }
    return line + "(gone)";
  }

  ManualClock clock_;
  std::atomic<int> ended_{-1};
  MemoryJobStore store_{clock_};
  std::vector<std::unique_ptr<Pmi1Server>> servers_;
  std::vector<std::shared_ptr<const UniqueFd>> ranks_;
};

TEST_F(Pmi1ServerTest, RanksOfTwoAgentsFindEachOther) {
  Begin(2, 2);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const std::string name = std::to_string(rank);
    Say(rank, "cmd=put kvsname=k key=r" + name + " value=v" + name + "\ncmd=barr");
    EXPECT_EQ(Hear(rank), "cmd=put_result rc=0 msg=success");
    Say(rank, "ier_in\n");
  }
  for (uint32_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(Hear(rank), "cmd=barrier_out");
    Say(rank, "cmd=get kvsname=k key=r" + std::to_string(3 - rank) + "\n");
    EXPECT_EQ(Hear(rank), "cmd=get_result rc=0 msg=success value=v" + std::to_string(3 - rank));
  }
}

TEST_F(Pmi1ServerTest, LastWordsOfAProcessThatEndedCount) {
  Begin(1, 1);
  Say(0, "cmd=init pmi_version=1 pmi_subversion=1\ncmd=abort exitcode=4\n");
  ranks_.clear();
  const MpiProgress progress = servers_[0]->ProgressOf(0);
  EXPECT_TRUE(progress.has_aborted);
  EXPECT_EQ(progress.abort_code, 4);
  EXPECT_EQ(ended_, 0);
}

TEST_F(Pmi1ServerTest, AnInvalidCommandIsNotServed) {
  Begin(1, 3);
  Say(0, "GET / HTTP/1.0\n");
  EXPECT_EQ(Hear(0), "(gone)");
  Say(1, std::string(3 * Pmi1::kMaxLineBytes, 'x'));
  EXPECT_EQ(Hear(1), "(gone)");
  Say(2, "cmd=get_appnum\n");
  EXPECT_EQ(Hear(2), "cmd=appnum appnum=0");
  EXPECT_NE(servers_[0]->ProgressOf(0).error, "");
}

TEST_F(Pmi1ServerTest, ARankThatDoesNotReadIsNotServed) {
  Begin(1, 1);
  const std::string question = "cmd=get_appnum\n";
  while (::send(ranks_[0]->get(), question.data(), question.size(), MSG_NOSIGNAL) > 0) {
  }
  EXPECT_FALSE(servers_[0]->ProgressOf(0).has_connected);
}

}  // namespace
}  // namespace muster::agent
