#include "scheduler/ingress/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "scheduler/ingress/port_holder.h"
#include "tests/unit/rpc/test_client_socket.h"

namespace muster::scheduler {
namespace {

using ::testing::HasSubstr;

BindPlan Loopback() { return BindPlan{{*IpAddress::Parse("127.0.0.1")}, ""}; }

bool HasIpv6() {
  const UniqueFd probe(socket(AF_INET6, SOCK_STREAM, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  return probe.is_open() && bind(probe.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST(TcpListener, PortZeroWorksAndTheNameSaysWhich) {
  const auto listeners = OpenTcpListeners(Loopback(), 0);
  ASSERT_TRUE(listeners.ok()) << listeners.status();
  ASSERT_EQ(listeners->size(), 1u);
  EXPECT_NE(listeners->front().port, 0);
  EXPECT_EQ(listeners->front().name, absl::StrCat("127.0.0.1:", listeners->front().port));
  EXPECT_TRUE(ConnectTcp(listeners->front().port).is_open());
}

TEST(TcpListener, SeveralAddressesShareOnePort) {
  if (!HasIpv6()) GTEST_SKIP() << "no IPv6 here";
  const auto listeners = OpenTcpListeners(BindPlan{{*IpAddress::Parse("::1"), *IpAddress::Parse("127.0.0.1")}, ""}, 0);
  ASSERT_TRUE(listeners.ok()) << listeners.status();
  ASSERT_EQ(listeners->size(), 2u);
  EXPECT_EQ((*listeners)[0].port, (*listeners)[1].port);
  EXPECT_TRUE(ConnectTcp((*listeners)[0].port, AF_INET).is_open());
  EXPECT_TRUE(ConnectTcp((*listeners)[0].port, AF_INET6).is_open());
}

TEST(TcpListener, AllAddressesMeansBothFamilies) {
  const auto listeners = OpenTcpListeners(BindPlan{}, 0);
  ASSERT_TRUE(listeners.ok()) << listeners.status();
  EXPECT_TRUE(ConnectTcp(listeners->front().port, AF_INET).is_open());
  if (HasIpv6()) {
    EXPECT_TRUE(ConnectTcp(listeners->front().port, AF_INET6).is_open());
  }
}

TEST(TcpListener, APortInUseNamesItsHolder) {
  const auto first = OpenTcpListeners(Loopback(), 0);
  ASSERT_TRUE(first.ok());
  const auto second = OpenTcpListeners(Loopback(), first->front().port);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  const std::string text(second.status().message());
  EXPECT_THAT(text, HasSubstr(absl::StrCat("port ", first->front().port, " is held by ")));
  EXPECT_THAT(text, HasSubstr(absl::StrCat("(pid ", getpid(), ", user ")));
  EXPECT_THAT(text, HasSubstr("--sched_port"));
}

TEST(TcpListener, AFreePortHasNoHolder) {
  uint16_t port = 0;
  {
    const auto listeners = OpenTcpListeners(Loopback(), 0);
    ASSERT_TRUE(listeners.ok());
    port = listeners->front().port;
    EXPECT_NE(DescribePortHolder(port), "");
  }
  EXPECT_EQ(DescribePortHolder(port), "");
}

class UnixListener : public FolderTest {};

TEST_F(UnixListener, IsForItsOwnerOnly) {
  const std::string path = folder_ + "/new/admin.sock";
  const auto listener = OpenUnixListener(path);
  ASSERT_TRUE(listener.ok()) << listener.status();
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(stat((folder_ + "/new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_TRUE(ConnectUnix(path).is_open());
}

TEST_F(UnixListener, AStaleSocketIsReplacedALiveOneIsNot) {
  const std::string path = folder_ + "/admin.sock";
  { ASSERT_TRUE(OpenUnixListener(path).ok()); }  // closed, but its file stays
  ASSERT_TRUE(std::filesystem::exists(path));
  const auto again = OpenUnixListener(path);
  ASSERT_TRUE(again.ok()) << again.status();
  const auto second = OpenUnixListener(path);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(ConnectUnix(path).is_open()) << "the live one was left alone";
}

TEST_F(UnixListener, OneThatHangsIsALiveOne) {
  const std::string path = folder_ + "/admin.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const UniqueFd hung(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(hung.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(hung.get(), 0), 0);
  std::vector<UniqueFd> waiting;  // until its queue is full: another client would wait for ever
  do {
    waiting.emplace_back(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  } while (connect(waiting.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  ASSERT_EQ(errno, EAGAIN);
  EXPECT_EQ(OpenUnixListener(path).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(UnixListener, NothingElseIsEverReplaced) {
  const std::string path = folder_ + "/precious";
  std::ofstream(path) << "data";
  EXPECT_EQ(OpenUnixListener(path).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::filesystem::file_size(path), 4u);
}

TEST_F(UnixListener, APathThatIsTooLongSaysSo) {
  const auto listener = OpenUnixListener(folder_ + "/" + std::string(120, 'x'));
  EXPECT_THAT(std::string(listener.status().message()), HasSubstr("--admin_socket"));
}

TEST_F(UnixListener, AFolderOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make one";
  ASSERT_EQ(chown(folder_.c_str(), 12345, 12345), 0);
  const auto listener = OpenUnixListener(folder_ + "/admin.sock");
  EXPECT_THAT(std::string(listener.status().message()), HasSubstr("belongs to another user"));
}

// ms-ctl would not trust a socket there: CheckSocket uses the same function.
TEST_F(UnixListener, AFolderThatOthersCanWriteToIsRefused) {
  for (const mode_t mode : {0777, 0770, 0702}) {
    ASSERT_EQ(chmod(folder_.c_str(), mode), 0);
    const auto listener = OpenUnixListener(folder_ + "/admin.sock");
    ASSERT_EQ(listener.status().code(), absl::StatusCode::kFailedPrecondition) << listener.status();
    EXPECT_THAT(std::string(listener.status().message()), HasSubstr("chmod go-w " + folder_));
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/admin.sock"));
  }
}

TEST_F(UnixListener, AStickyFolderIsTaken) {
  ASSERT_EQ(chmod(folder_.c_str(), 01777), 0);  // as /tmp
  const auto listener = OpenUnixListener(folder_ + "/admin.sock");
  EXPECT_TRUE(listener.ok()) << listener.status();
}

}  // namespace
}  // namespace muster::scheduler
