// Certificates are renewed again and again while clients come, call and go.
#include <atomic>
#include <thread>

#include "tests/tls/tls_server_fixture.h"

namespace muster::scheduler {
namespace {

using testing_tls::Issued;
using testing_tls::SchedulerSpec;

class RotationTest : public TlsServerTest {
 protected:
  // Connects anew and calls, until `stop`.
  void CallUntil(const std::atomic<bool>& stop) {
    while (!stop) {
      const auto channel = Channel(Node("n1"));
      for (int i = 0; i < 3; ++i) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + kPatience);
        v1::CountersReply reply;
        const grpc::Status status = v1::Admin::NewStub(channel)->GetCounters(&context, v1::CountersRequest(), &reply);
        ++calls_;
        if (!status.ok()) {
          ++failures_;
          ADD_FAILURE() << status.error_message();
        }
      }
    }
  }

  std::atomic<int> calls_ = 0;
  std::atomic<int> failures_ = 0;
};

TEST_F(RotationTest, AThousandRotationsUnderLoadFailNoCall) {
  std::atomic<bool> stop = false;
  std::thread caller([&] { CallUntil(stop); });
  std::string last;
  for (int i = 0; i < 1000; ++i) {
    const Issued renewed = authority_.Issue(SchedulerSpec());
    last = renewed.certificate.Fingerprint();
    folder_.Write("server.pem", renewed.all_pem());
    if (i % 10 == 0) folder_.Write("crl.pem", authority_.RevocationList({}));
    Reload();
    ASSERT_EQ(store_->Current()->identity->leaf().Fingerprint(), last);
    absl::SleepFor(absl::Milliseconds(10));
  }
  // gRPC looks once a second.
  std::string served;
  for (int i = 0; i < 100 && served != last; ++i) {
    absl::SleepFor(absl::Milliseconds(50));
    served = Connect(Node("n1")).server_fingerprint;
  }
  stop = true;
  caller.join();
  EXPECT_EQ(served, last);
  EXPECT_GT(calls_, 100);
  EXPECT_EQ(failures_, 0);
  RecordProperty("calls", calls_);
}

TEST_F(RotationTest, ANewAuthorityIsTrustedAndTheOldOneIsNot) {
  folder_.WriteConfig(false);
  Start();
  testing_tls::Authority next("Next CA");
  EXPECT_FALSE(Connect(next.Issue(testing_tls::NodeSpec("n1"))).is_let_in);
  folder_.Write("ca.crt", authority_.pem() + next.pem());
  Reload();
  EXPECT_TRUE(Connect(next.Issue(testing_tls::NodeSpec("n1"))).is_let_in);
  EXPECT_TRUE(Connect(Node("n1")).is_let_in);
  folder_.Write("server.pem", next.Issue(SchedulerSpec()).all_pem());
  folder_.Write("ca.crt", next.pem());
  Reload();
  EXPECT_TRUE(Connect(next.Issue(testing_tls::NodeSpec("n1"))).is_let_in);
  EXPECT_FALSE(Connect(Node("n1")).is_let_in);
}

}  // namespace
}  // namespace muster::scheduler
