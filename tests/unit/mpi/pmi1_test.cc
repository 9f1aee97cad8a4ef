#include "worker_agent/gateway/mpi/pmi1.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/mpi/sample_layout.h"

namespace muster::agent {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Pmi1Test : public testing::Test {
 protected:
  // Returns the one answer that the rank gets; empty: none.
  std::string Ask(uint32_t slot, const std::string& line) {
    const absl::StatusOr<Pmi1::Step> step = pmi_.OnLine(slot, line);
    if (!step.ok()) return "refused";
    has_fence_ = step->has_fence;
    bundle_ = step->bundle;
    EXPECT_LE(step->replies.size(), 1u);
    return step->replies.empty() ? "" : step->replies[0].line;
  }

  Pmi1 pmi_{SampleLayout(2, 2)};
  bool has_fence_ = false;
  std::string bundle_;
};

TEST_F(Pmi1Test, ItsQuestionsAreAnswered) {
  EXPECT_EQ(Ask(0, "cmd=init pmi_version=1 pmi_subversion=1"),
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  EXPECT_EQ(Ask(0, "cmd=get_maxes"), "cmd=maxes kvsname_max=256 keylen_max=256 vallen_max=1024\n");
  EXPECT_EQ(Ask(0, "cmd=get_appnum"), "cmd=appnum appnum=0\n");
  EXPECT_EQ(Ask(0, "cmd=get_my_kvsname"), "cmd=my_kvsname kvsname=kvs_4_2\n");
  EXPECT_EQ(Ask(0, "cmd=get_universe_size"), "cmd=universe_size size=4\n");
  EXPECT_THAT(Ask(0, "cmd=get kvsname=kvs_4_2 key=PMI_process_mapping"),
              HasSubstr("rc=0 msg=success value=(vector,(0,2,2))"));
  EXPECT_THAT(Ask(0, "cmd=get kvsname=kvs_4_2 key=other"), HasSubstr("rc=-1"));
  EXPECT_THAT(Ask(0, "cmd=spawn nprocs=2"), HasSubstr("cmd=spawn_result rc=-1"));
  EXPECT_EQ(Ask(0, "cmd=finalize"), "cmd=finalize_ack rc=0\n");
  EXPECT_TRUE(pmi_.progress(0).has_connected);
  EXPECT_TRUE(pmi_.progress(0).has_finalized);
  EXPECT_FALSE(pmi_.progress(1).has_connected);
}

TEST_F(Pmi1Test, ABarrierCarriesWhatWasPut) {
  EXPECT_THAT(Ask(0, "cmd=put kvsname=kvs_4_2 key=a value=x=1"), StartsWith("cmd=put_result rc=0"));
  EXPECT_THAT(Ask(1, "cmd=put kvsname=kvs_4_2 key=b value=2"), StartsWith("cmd=put_result rc=0"));
  EXPECT_EQ(Ask(0, "cmd=barrier_in"), "");
  EXPECT_FALSE(has_fence_);
  EXPECT_EQ(Ask(1, "cmd=barrier_in"), "");
  EXPECT_TRUE(has_fence_);
  EXPECT_EQ(bundle_, "a=x=1\nb=2\n");
  const Pmi1::Step out = pmi_.Gathered(std::vector<std::string>{bundle_, "c=3\n"});
  ASSERT_EQ(out.replies.size(), 2u);
  EXPECT_EQ(out.replies[1].line, "cmd=barrier_out\n");
  EXPECT_THAT(Ask(1, "cmd=get kvsname=kvs_4_2 key=a"), HasSubstr("value=x=1\n"));
  EXPECT_THAT(Ask(0, "cmd=get kvsname=kvs_4_2 key=c"), HasSubstr("value=3\n"));
  Ask(0, "cmd=barrier_in");
  Ask(1, "cmd=barrier_in");
  EXPECT_TRUE(has_fence_);
  EXPECT_EQ(bundle_, "");
}

TEST_F(Pmi1Test, NoRankLeavesAFailedBarrier) {
  for (const absl::StatusOr<std::vector<std::string>>& gathered :
       {absl::StatusOr<std::vector<std::string>>(absl::DeadlineExceededError("node 1 has not come")),
        absl::StatusOr<std::vector<std::string>>(std::vector<std::string>{"", "damaged"})}) {
    Ask(0, "cmd=barrier_in");
    Ask(1, "cmd=barrier_in");
    EXPECT_TRUE(pmi_.Gathered(gathered).replies.empty());
    EXPECT_THAT(pmi_.progress(0).error, HasSubstr("barrier"));
  }
}

TEST_F(Pmi1Test, AnAbortIsKept) {
  EXPECT_EQ(Ask(1, "cmd=abort exitcode=5"), "");
  EXPECT_TRUE(pmi_.progress(1).has_aborted);
  EXPECT_EQ(pmi_.progress(1).abort_code, 5);
  Ask(0, "cmd=abort exitcode=7 error_msg=no more bread");
  EXPECT_EQ(pmi_.progress(0).abort_message, "no more bread");
}

TEST_F(Pmi1Test, NonsenseIsRefused) {
  for (const std::string& line : {std::string(), std::string("nonsense"), std::string("cmd"), std::string("=="),
                                  std::string("cmd=init pmi_version=2"), std::string("\0\xff cmd", 6),
                                  "cmd=put key=" + std::string(300, 'k') + " value=1",
                                  "cmd=put key=k value=" + std::string(1025, 'v'), std::string("cmd=put value=1")}) {
    EXPECT_EQ(Ask(0, line), "refused") << line;
    EXPECT_NE(pmi_.progress(0).error, "");
  }
  Ask(0, "cmd=barrier_in");
  EXPECT_EQ(Ask(0, "cmd=barrier_in"), "refused");
  for (size_t i = 0; i < Pmi1::kMaxPutsOfRank; ++i) EXPECT_NE(Ask(1, "cmd=put key=k value=1"), "refused");
  EXPECT_EQ(Ask(1, "cmd=put key=k value=1"), "refused");
}

}  // namespace
}  // namespace muster::agent
