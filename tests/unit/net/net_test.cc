#include "common/net/net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>
#include <utility>

namespace muster {
namespace {

using ::testing::HasSubstr;

TEST(ResolveHost, NumericAddressesNeedNoNameServer) {
  EXPECT_EQ(ResolveHost("10.1.2.3")->at(0).ToString(), "10.1.2.3");
  EXPECT_EQ(ResolveHost("[::1]")->at(0).ToString(), "::1");
}

TEST(ResolveHost, LocalhostIsLoopback) {
  const auto addresses = ResolveHost("localhost");
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  for (const IpAddress& address : *addresses) EXPECT_TRUE(address.is_loopback()) << address.ToString();
}

TEST(ResolveHost, ErrorNamesTheHostAndWhatToCheck) {
  const auto addresses = ResolveHost("no such host");
  ASSERT_FALSE(addresses.ok());
  EXPECT_THAT(addresses.status().message(), HasSubstr("\"no such host\" can't be resolved"));
  EXPECT_THAT(addresses.status().message(), HasSubstr("/etc/hosts"));
  EXPECT_EQ(ResolveHost("").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ResolveHost, RefusesALinkLocalAddressInWords) {
  const auto addresses = ResolveHost("fe80::1%lo");
  EXPECT_EQ(addresses.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(addresses.status().message(), HasSubstr("no address except fe80::1"));
  EXPECT_THAT(addresses.status().message(), HasSubstr("ip -6 addr add"));
  EXPECT_EQ(LookUpHost("fe80::1%lo")->at(0).ToString(), "fe80::1");
}

TEST(IsLocalAddress, LoopbackIsAndDocumentationNetsAreNot) {
  EXPECT_TRUE(IsLocalAddress(*IpAddress::Parse("127.0.0.1")));
  EXPECT_TRUE(IsLocalAddress(*IpAddress::Parse("::1")));
  EXPECT_FALSE(IsLocalAddress(*IpAddress::Parse("192.0.2.77")));
  EXPECT_FALSE(IsLocalAddress(*IpAddress::Parse("2001:db8::77")));
}

TEST(LocalAddressTowards, LoopbackComesFromLoopback) {
  const auto local = LocalAddressTowards(*IpAddress::Parse("127.0.0.1"));
  ASSERT_TRUE(local.ok()) << local.status();
  EXPECT_TRUE(local->is_loopback());
}

TEST(LocalEndOf, IsTheAddressThatTheOtherEndCameTo) {
  const UniqueFd fd = OpenDatagramsTowards(*IpAddress::Parse("127.0.0.1"), 9);
  EXPECT_EQ(LocalEndOf(fd.get()), "127.0.0.1");
  EXPECT_EQ(LocalEndOf(-1), "");
}

TEST(DefaultRouteAddress, IsOneOfOursAndNotLoopback) {
  const auto address = DefaultRouteAddress();
  if (!address) GTEST_SKIP() << "no default route here";
  EXPECT_FALSE(address->is_loopback());
  EXPECT_TRUE(IsLocalAddress(*address));
}

TEST(LocalNames, AreNeverEmpty) {
  EXPECT_FALSE(LocalHostName().empty());
  EXPECT_FALSE(LocalUserName().empty());
}

int OptionOf(int fd, int level, int option) {
  int value = -1;
  socklen_t length = sizeof(value);
  getsockopt(fd, level, option, &value, &length);
  return value;
}

// A listener on 127.0.0.1 and one connection to it.
class Connection {
 public:
  Connection() : listener_(socket(AF_INET, SOCK_STREAM, 0)), client_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    listen(listener_, 1);
    socklen_t length = sizeof(address);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    is_connected_ = connect(client_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~Connection() {
    close(client_);
    close(listener_);
  }
  const int listener_;
  const int client_;
  uint16_t port_ = 0;
  bool is_connected_ = false;
};

TEST(SetDeadPeerDetectionTowards, FindsTheSocketByItsPeer) {
  const Connection connection;
  ASSERT_TRUE(connection.is_connected_);
  const std::vector<IpAddress> loopback = {*IpAddress::Parse("127.0.0.1")};
  EXPECT_EQ(SetDeadPeerDetectionTowards({*IpAddress::Parse("127.0.0.2")}, connection.port_), 0);
  EXPECT_EQ(OptionOf(connection.client_, SOL_SOCKET, SO_KEEPALIVE), 0);

  EXPECT_EQ(SetDeadPeerDetectionTowards(loopback, connection.port_), 1);
  EXPECT_EQ(OptionOf(connection.client_, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(OptionOf(connection.client_, IPPROTO_TCP, TCP_USER_TIMEOUT), 25'000);
}

// 12,500 connections that all got a round in one instant sent their probes in one instant, too. Hundreds of probes were
// dropped until their connections were given up.
TEST(SetDeadPeerDetection, ManyConnectionsDoNotProbeInStep) {
  std::set<std::pair<int, int>> steps;
  for (int i = 0; i < 300; ++i) {
    const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    SetDeadPeerDetection(fd.get());
    const int idle = OptionOf(fd.get(), IPPROTO_TCP, TCP_KEEPIDLE);
    const int interval = OptionOf(fd.get(), IPPROTO_TCP, TCP_KEEPINTVL);
    EXPECT_TRUE(idle >= 6 && idle <= 14 && interval >= 2 && interval <= 4) << idle << " " << interval;
    EXPECT_EQ(OptionOf(fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT), 25'000);
    SetDeadPeerDetection(fd.get(), Crowd::kFew);
    EXPECT_LE(OptionOf(fd.get(), IPPROTO_TCP, TCP_KEEPIDLE) + OptionOf(fd.get(), IPPROTO_TCP, TCP_KEEPINTVL), 7);
    EXPECT_EQ(OptionOf(fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT), 8'000);
    steps.emplace(idle, interval);
  }
  EXPECT_GT(steps.size(), 20u) << "of 27";
}

TEST(SetDeadPeerDetection, LeavesOtherDescriptorsInPeace) {
  SetDeadPeerDetection(STDIN_FILENO);  // not a socket: nothing happens
  SetDeadPeerDetection(-1);
}

}  // namespace
}  // namespace muster
