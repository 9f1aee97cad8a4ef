// Tests against a real gRPC server, on a port that the kernel chooses or a Unix socket.
#include "ctl/admin_client.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "muster/v1/admin.grpc.pb.h"

namespace muster::ctl {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kTimeout = absl::Seconds(10);

// 2,500 nodes, 25,000 ranks and 2,500 events, in pages as the real service gives them.
class BigCluster final : public v1::Admin::Service {
 public:
  static constexpr uint32_t kNodes = 2500;
  static constexpr uint32_t kRanks = 25'000;

  grpc::Status GetStatus(grpc::ServerContext*, const v1::StatusRequest* request, v1::StatusReply* reply) override {
    if (request->job_id() == "missing") return {grpc::StatusCode::NOT_FOUND, "no such job"};
    reply->set_version("1.2.3");
    return grpc::Status::OK;
  }

  grpc::Status ListNodes(grpc::ServerContext*, const v1::NodesRequest* request, v1::NodesReply* reply) override {
    reply->set_total(kNodes);
    reply->set_run(6);
    if (request->offset() > 0 && request->run() != 6) return {grpc::StatusCode::INTERNAL, "pages of different runs"};
    for (uint32_t i = request->offset(); i < std::min(kNodes, request->offset() + request->limit()); ++i) {
      reply->add_nodes()->set_node_id(std::to_string(i));
    }
    return grpc::Status::OK;
  }

  grpc::Status ListRanks(grpc::ServerContext*, const v1::RanksRequest* request, v1::RanksReply* reply) override {
    reply->set_total(kRanks);
    reply->set_round(restarts_between_pages ? request->offset() + 1 : 1);
    for (uint32_t i = request->offset(); i < std::min(kRanks, request->offset() + request->limit()); ++i) {
      reply->add_ranks()->set_rank(i);
    }
    return grpc::Status::OK;
  }

  grpc::Status ListEvents(grpc::ServerContext*, const v1::EventsRequest* request, v1::EventsReply* reply) override {
    for (uint64_t n = request->after() + 1; n <= kNodes && reply->events_size() < 1000; ++n) {
      reply->add_events()->set_number(n);
    }
    return grpc::Status::OK;
  }

  grpc::Status StopRun(grpc::ServerContext*, const v1::StopRequest* request, v1::StopReply* reply) override {
    stopped = request->job_id();
    reply->set_run(2);
    return grpc::Status::OK;
  }

  std::string stopped;
  bool restarts_between_pages = false;
};

class AdminClientTest : public testing::Test {
 protected:
  AdminClientTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.AddListeningPort("unix:" + socket_, grpc::InsecureServerCredentials());
    server_ = builder.BuildAndStart();
  }
  ~AdminClientTest() override {
    if (server_ != nullptr) server_->Shutdown();
    unlink(socket_.c_str());
  }

  std::unique_ptr<AdminClient> Connect() {
    auto client = AdminClient::OverTcp("127.0.0.1", static_cast<uint16_t>(port_), kTimeout);
    EXPECT_TRUE(client.ok()) << client.status().ToString();
    return *std::move(client);
  }

  const std::string socket_ = "/tmp/muster-admin-client-test-" + std::to_string(getpid()) + ".sock";
  int port_ = 0;
  BigCluster service_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(AdminClientTest, GathersAllPages) {
  const auto client = Connect();
  const auto nodes = client->ListNodes("a", 0);
  ASSERT_TRUE(nodes.ok()) << nodes.status().ToString();
  ASSERT_EQ(nodes->nodes_size(), static_cast<int>(BigCluster::kNodes));
  EXPECT_EQ(nodes->nodes(2499).node_id(), "2499");
  const auto ranks = client->ListRanks("a", 0);
  ASSERT_TRUE(ranks.ok()) << ranks.status().ToString();
  ASSERT_EQ(ranks->ranks_size(), static_cast<int>(BigCluster::kRanks));
  EXPECT_EQ(ranks->ranks(24'999).rank(), 24'999u);
  const auto events = client->ListEvents("a", 10);
  ASSERT_TRUE(events.ok()) << events.status().ToString();
  ASSERT_EQ(events->events_size(), 2490);
  EXPECT_EQ(events->events(0).number(), 11u);
}

TEST_F(AdminClientTest, NeverMixesTheRanksOfTwoRounds) {
  service_.restarts_between_pages = true;
  EXPECT_TRUE(absl::IsAborted(Connect()->ListRanks("a", 0).status()));
}

TEST_F(AdminClientTest, PassesOnTheSchedulersWords) {
  const auto reply = Connect()->GetStatus("missing", 0);
  EXPECT_TRUE(absl::IsNotFound(reply.status()));
  EXPECT_EQ(reply.status().message(), "no such job");
}

TEST_F(AdminClientTest, TriesEachAddressOfAName) {
  // On most machines localhost is also ::1, and nothing listens there.
  const auto client = AdminClient::OverTcp("localhost", static_cast<uint16_t>(port_), kTimeout);
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  const auto reply = (*client)->GetStatus("", 0);
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  EXPECT_EQ(reply->version(), "1.2.3");
}

TEST_F(AdminClientTest, StopsOverTheUnixSocket) {
  const auto client = AdminClient::OverSocket({socket_}, kTimeout);
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  v1::StopRequest request;
  request.set_job_id("a");
  const auto reply = (*client)->StopRun(request);
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  EXPECT_EQ(reply->run(), 2u);
  EXPECT_EQ(service_.stopped, "a");
}

// A port that accepts connections and never answers, like one that is flooded.
class SilentPort {
 public:
  SilentPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    EXPECT_EQ(listen(fd_, 16), 0);
    port_ = ntohs(address.sin_port);
  }
  ~SilentPort() { close(fd_); }
  uint16_t port() const { return port_; }

 private:
  const int fd_;
  uint16_t port_ = 0;
};

TEST_F(AdminClientTest, FallsBackOnTheSocketOfASchedulerHere) {
  const SilentPort silent;
  std::vector<std::string> reports;
  const auto report = [&](const std::string& why) { reports.push_back(why); };
  const auto client = AdminClient::OverTcp("127.0.0.1", silent.port(), absl::Seconds(2), {}, {{socket_}, report});
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  for (int i = 0; i < 2; ++i) {
    const auto reply = (*client)->GetStatus("", 0);
    ASSERT_TRUE(reply.ok()) << reply.status().ToString();
    EXPECT_EQ(reply->version(), "1.2.3");
  }
  ASSERT_EQ(reports.size(), 1u) << "the second call goes there at once";
  EXPECT_EQ(reports[0], "no answer within 1s");
}

TEST_F(AdminClientTest, WithoutAnAnswerOnTheSocketThePortIsBlamed) {
  const SilentPort silent;
  server_->Shutdown();
  server_.reset();
  for (const std::string& path : {socket_, std::string("/nonexistent/scheduler.sock")}) {
    const auto client = AdminClient::OverTcp("127.0.0.1", silent.port(), absl::Seconds(1), Security(),
                                             {{path}, [](const std::string&) { ADD_FAILURE() << "was not used"; }});
    const auto reply = (*client)->GetStatus("", 0);
    ASSERT_TRUE(absl::IsUnavailable(reply.status()));
    EXPECT_THAT(std::string(reply.status().message()), HasSubstr("127.0.0.1:" + std::to_string(silent.port())));
  }
}

// Other users can write to the socket's folder, so any of them may have put the socket there.
class AdminClientUntrustedSocket : public AdminClientTest {
 protected:
  AdminClientUntrustedSocket() : path_(MakeFolder() + "/scheduler.sock") { rename(socket_.c_str(), path_.c_str()); }
  ~AdminClientUntrustedSocket() override { std::filesystem::remove_all(std::filesystem::path(path_).parent_path()); }

  static std::string MakeFolder() {
    std::string pattern = "/tmp/muster-client-XXXXXX";
    const std::string folder = mkdtemp(pattern.data());
    EXPECT_EQ(chmod(folder.c_str(), 0777), 0);
    return folder;
  }

  const std::string path_;
};

TEST_F(AdminClientUntrustedSocket, IsToldNothing) {
  const auto client = AdminClient::OverSocket({path_}, kTimeout);
  ASSERT_TRUE(absl::IsUnauthenticated(client.status())) << client.status().ToString();
  EXPECT_THAT(std::string(client.status().message()), HasSubstr(path_));
}

TEST_F(AdminClientUntrustedSocket, IsNoWayRoundThePortAndTheErrorSaysWhy) {
  const SilentPort silent;
  const auto client = AdminClient::OverTcp("127.0.0.1", silent.port(), absl::Seconds(1), Security(),
                                           {{path_}, [](const std::string&) { ADD_FAILURE() << "was not used"; }});
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  const auto reply = (*client)->GetStatus("", 0);
  ASSERT_TRUE(absl::IsUnavailable(reply.status())) << reply.status().ToString();
  EXPECT_THAT(std::string(reply.status().message()), HasSubstr("chmod go-w"));
}

TEST_F(AdminClientTest, IgnoresTheWebProxy) {
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  const auto reply = Connect()->GetStatus("", 0);
  unsetenv("http_proxy");
  EXPECT_TRUE(reply.ok()) << reply.status().ToString();
}

TEST_F(AdminClientTest, SaysWhatToCheckWhenThereIsNoAnswer) {
  const auto client = Connect();
  server_->Shutdown();
  server_.reset();
  const auto reply = client->GetStatus("", 0);
  ASSERT_TRUE(absl::IsUnavailable(reply.status())) << reply.status().ToString();
  const std::string text(reply.status().message());
  EXPECT_THAT(text, HasSubstr("127.0.0.1:" + std::to_string(port_)));
  EXPECT_THAT(text, HasSubstr("--sched_port"));
  EXPECT_THAT(text, HasSubstr("MS_SCHED_HOST"));
}

TEST_F(AdminClientTest, TheFirstCallAfterARestartIsAnswered) {
  const auto client = Connect();
  ASSERT_TRUE(client->GetStatus("", 0).ok());
  server_->Shutdown();
  server_.reset();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(absl::IsUnavailable(client->GetStatus("", 0).status()));
  grpc::ServerBuilder builder;
  builder.RegisterService(&service_);
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port_), grpc::InsecureServerCredentials());
  server_ = builder.BuildAndStart();
  ASSERT_NE(server_, nullptr);
  const auto reply = client->GetStatus("", 0);
  EXPECT_TRUE(reply.ok()) << reply.status().ToString();
}

TEST(AdminClientSocket, SaysThatThereIsNone) {
  const auto client = AdminClient::OverSocket({"/nonexistent/scheduler.sock"}, kTimeout);
  ASSERT_TRUE(absl::IsUnavailable(client.status()));
  EXPECT_THAT(std::string(client.status().message()), HasSubstr("/nonexistent/scheduler.sock"));
  EXPECT_THAT(std::string(client.status().message()), HasSubstr("--admin_socket"));
}

TEST(AdminClientName, OneThatDoesNotResolveIsUnavailable) {
  EXPECT_TRUE(absl::IsUnavailable(AdminClient::OverTcp("no-such-host.invalid", 8118, kTimeout).status()));
}

}  // namespace
}  // namespace muster::ctl
