// Certificates are renewed again and again while clients come, call and go.
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <set>
#include <thread>

#include "common/tls/grpc/credentials.h"
#include "tests/tls/server/joined_agents.h"
#include "tests/tls/server/tls_server_fixture.h"

namespace muster::scheduler {
namespace {

using testing_tls::Issued;
using testing_tls::SchedulerSpec;

class RotationTest : public TlsServerTest {
 protected:
  // Connects and calls again and again until `stop`. Some of the connections show a renewed certificate.
  void CallUntil(const std::atomic<bool>& stop, size_t joined) {
    for (int i = 0; !stop; ++i) {
      if (i % kCallsOfACertificate == 0) RenewClient();
      const auto channel = ChannelWith(MakeClientCredentials(client_, "127.0.0.1", "default", nullptr));
      if (i % kCallsOfACertificate == 0) ExpectShown(channel, joined++);
      for (int k = 0; k < 3; ++k) {
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
      NoteServed();
    }
  }

  void RenewClient() {
    folder_.Write("client.pem", Node("n1").all_pem());
    if (client_ == nullptr) {
      auto store = TlsStore::Open({TlsRole::kClient, settings_, {}}, Clock::System(), counted_);
      ASSERT_TRUE(store.ok()) << store.status();
      client_ = *std::move(store);
    } else {
      EXPECT_TRUE(client_->Poll());
    }
    ++renewals_;
  }
  // The server sees the certificate that the client has now.
  void ExpectShown(const std::shared_ptr<grpc::Channel>& channel, size_t join) {
    AgentStream stream(channel);
    ASSERT_TRUE(stream.Write(AgentStream::GoodJoin()));
    EXPECT_EQ(loop_.Await<JoinRequested>(join).join.node().certificate_fingerprint(),
              client_->Current()->identity->leaf().Fingerprint());
  }

  // Connects and notes the certificate that the server shows.
  std::string NoteServed() {
    std::string served = Connect(Node("n2")).server_fingerprint;
    const std::lock_guard<std::mutex> lock(mutex_);
    served_.insert(served);
    return served;
  }
  void AwaitServed(const std::string& wanted) {
    std::string served;
    for (int i = 0; i < 100 && served != wanted; ++i) {
      served = NoteServed();
      if (served != wanted) absl::SleepFor(absl::Milliseconds(50));
    }
    ASSERT_EQ(served, wanted);
  }

  static constexpr int kCallsOfACertificate = 20;
  std::shared_ptr<TlsStore> client_;
  std::atomic<int> calls_ = 0;
  std::atomic<int> failures_ = 0;
  int renewals_ = 0;
  std::mutex mutex_;
  std::set<std::string> served_;
};

// Renews the certificate a thousand times. With MUSTER_LONG=1 waits for each one until it is served, for as many as
// half an hour allows.
TEST_F(RotationTest, AThousandRotationsUnderLoadFailNoCallAndCutNoStream) {
  const char* wish = getenv("MUSTER_LONG");
  const bool is_long = wish != nullptr && std::string(wish) == "1";
  const size_t streams = 4;
  JoinedAgents agents(loop_, server_->sink());
  for (size_t i = 0; i < streams; ++i) {
    const std::string id = absl::StrCat("joined", i);
    ASSERT_NO_FATAL_FAILURE(agents.Join(Channel(Node(id)), id, std::chrono::hours(1)));
  }
  std::atomic<bool> stop = false;
  std::thread caller([&] { CallUntil(stop, streams); });
  std::thread heart([&] {
    for (; !stop && !HasFatalFailure(); absl::SleepFor(absl::Milliseconds(100))) agents.Beat();
  });
  const MonotonicTime begin = Clock::System().Read().monotonic;
  const auto elapsed = [&] { return Clock::System().Read().monotonic - begin; };
  std::string last;
  size_t rotations = 0;
  for (; rotations < 1000 && elapsed() < absl::Minutes(30) && !HasFatalFailure(); ++rotations) {
    const Issued renewed = authority_.Issue(SchedulerSpec());
    last = renewed.certificate.Fingerprint();
    folder_.Write("server.pem", renewed.all_pem());
    if (rotations % 10 == 0) folder_.Write("crl.pem", authority_.RevocationList({}));
    Reload();
    EXPECT_EQ(store_->Current()->identity->leaf().Fingerprint(), last);
    if (is_long) {
      AwaitServed(last);
    } else {
      absl::SleepFor(absl::Milliseconds(10));
    }
  }
  const double seconds = absl::ToDoubleSeconds(elapsed());
  AwaitServed(last);
  stop = true;
  caller.join();
  heart.join();
  EXPECT_GT(calls_, 100);
  EXPECT_EQ(failures_, 0);
  EXPECT_GT(renewals_, 1) << "of the client";
  EXPECT_GT(agents.heartbeats(), streams * static_cast<size_t>(seconds));
  EXPECT_LT(agents.longest(), absl::Seconds(2));
  // Half of one a second, since the machine may be busy.
  EXPECT_GE(served_.size(), is_long ? rotations : std::max<size_t>(3, static_cast<size_t>(seconds / 2)));
  for (const auto& [what, count] :
       std::vector<std::pair<std::string, size_t>>{{"rotations", rotations},
                                                   {"served", served_.size()},
                                                   {"client's", static_cast<size_t>(renewals_)},
                                                   {"calls", static_cast<size_t>(calls_)},
                                                   {"heartbeats", agents.heartbeats()}}) {
    RecordProperty(what, std::to_string(count));
    std::cout << what << " " << count << ", ";
  }
  std::cout << seconds << " s\n";
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
