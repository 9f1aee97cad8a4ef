// TLS as ms-scheduler uses it, with the thread that keeps it up to date.
#include "scheduler/scheduler_tls.h"

#include <signal.h>
#include <sys/resource.h>

#include <cstdio>

#include "tests/tls/server/tls_server_fixture.h"

namespace muster::scheduler {
namespace {

using testing_tls::Issued;
using testing_tls::SchedulerSpec;

class SchedulerTlsTest : public TlsServerTest {
 protected:
  void SetUp() override {
    TlsServerTest::SetUp();
    auto opened = SchedulerTls::Open(settings_, Clock::System(), counted_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    scheduler_tls_ = *std::move(opened);
    Serve({}, *scheduler_tls_->store(), *scheduler_tls_->server(), scheduler_tls_->authorizer());
  }
  void TearDown() override {
    if (scheduler_tls_ != nullptr) scheduler_tls_->Stop();
    server_.reset();
  }
  std::string AwaitServed(const std::string& wanted) {
    std::string served;
    for (int i = 0; i < 100 && served != wanted; ++i) {
      served = Connect(Node("n1")).server_fingerprint;
      absl::SleepFor(absl::Milliseconds(50));
    }
    return served;
  }

  std::unique_ptr<SchedulerTls> scheduler_tls_;
};

TEST_F(SchedulerTlsTest, ANodesCertificateIsNoSchedulers) {
  folder_.Write("server.pem", authority_.Issue(testing_tls::NodeSpec("n1")).all_pem());
  const auto opened = SchedulerTls::Open(settings_, Clock::System(), counted_);
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(std::string(opened.status().message()), ::testing::HasSubstr("which is not a scheduler's"));
}

// Prevents writing to any file.
class NoWriting {
 public:
  NoWriting() {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~NoWriting() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(SchedulerTlsTest, ARenewedCertificateIsServedAlsoWhereNothingCanBeWritten) {
  const Issued renewed = authority_.Issue(SchedulerSpec());
  const std::string before = scheduler_tls_->store()->Current()->identity->leaf().Fingerprint();
  std::atomic<int> checked = 0;
  ASSERT_TRUE(scheduler_tls_->Watch([&] { ++checked; }).ok());
  folder_.Write("renewed.pem", renewed.all_pem());
  const NoWriting limit;
  rename(folder_.path("renewed.pem").c_str(), folder_.path("server.pem").c_str());
  ASSERT_TRUE(scheduler_tls_->Reload());
  EXPECT_EQ(AwaitServed(renewed.certificate.Fingerprint()), renewed.certificate.Fingerprint());
  EXPECT_NE(before, renewed.certificate.Fingerprint());
  EXPECT_GE(checked, 1) << "open connections are looked at";
  EXPECT_EQ(counted_.Counts()[kNotServed], 0u);
}

}  // namespace
}  // namespace muster::scheduler
