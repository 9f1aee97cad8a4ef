#include "worker_agent/gateway/chassis/socket_owner.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::agent {
namespace {

constexpr uid_t kSomebody = 65534;

class SocketOwnerTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto listening = ListenOn(*IpAddress::Parse(GetParam()), 0, 8, "a test");
    if (!listening.ok()) GTEST_SKIP() << listening.status();
    listener_ = *std::move(listening);
    own_ = *LocalEnd(listener_.get());
  }

  UniqueFd Connect() {
    sockaddr_storage to{};
    socklen_t size = sizeof(to);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&to), &size);
    UniqueFd fd(socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&to), size), 0);
    return fd;
  }

  UniqueFd listener_;
  SocketAddress own_;
};

INSTANTIATE_TEST_SUITE_P(Addresses, SocketOwnerTest, testing::Values("127.0.0.1", "::1"));

TEST_P(SocketOwnerTest, IsThisUser) {
  const UniqueFd client = Connect();
  SocketAddress from;
  const UniqueFd accepted = AcceptFrom(listener_.get(), from);
  const SocketOwner owner = OwnerOf(from, own_);
  if (owner.answer == SocketOwner::Answer::kCannotBeAsked) GTEST_SKIP() << "no sock_diag here";
  EXPECT_EQ(owner.answer, SocketOwner::Answer::kFound);
  EXPECT_EQ(owner.uid, geteuid());
  EXPECT_EQ(WhyNotServed(from, owner, geteuid()), "");
}

TEST_P(SocketOwnerTest, IsAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(kSomebody) != 0) _exit(1);
    const UniqueFd client = Connect();
    close(ready[1]);
    char byte = 0;
    _exit(read(ready[0], &byte, 1) == 1 ? 0 : 1);
  }
  SocketAddress from;
  pollfd waited{listener_.get(), POLLIN, 0};
  ASSERT_EQ(poll(&waited, 1, 10'000), 1);
  const UniqueFd accepted = AcceptFrom(listener_.get(), from);
  const SocketOwner owner = OwnerOf(from, own_);
  EXPECT_EQ(write(ready[1], "x", 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  close(ready[0]);
  close(ready[1]);
  if (owner.answer == SocketOwner::Answer::kCannotBeAsked) GTEST_SKIP() << "no sock_diag here";
  EXPECT_EQ(owner.answer, SocketOwner::Answer::kFound);
  EXPECT_EQ(owner.uid, kSomebody);
  EXPECT_NE(WhyNotServed(from, owner, 1000), "");
  EXPECT_NE(WhyNotServed(from, owner, geteuid()), "");
}

// For a socket that no process holds any more, the kernel reports root.
TEST_P(SocketOwnerTest, AClosedSocketHasNoOwner) {
  UniqueFd client = Connect();
  SocketAddress from;
  const UniqueFd accepted = AcceptFrom(listener_.get(), from);
  client = UniqueFd();
  const SocketOwner owner = OwnerOf(from, own_);
  EXPECT_NE(owner.answer, SocketOwner::Answer::kFound);
}

TEST(WhyNotServedTest, RootAndItsOwnUserAre) {
  const SocketAddress here;
  EXPECT_EQ(WhyNotServed(here, {SocketOwner::Answer::kFound, 1000}, 1000), "");
  EXPECT_EQ(WhyNotServed(here, {SocketOwner::Answer::kFound, 0}, 1000), "");
  EXPECT_NE(WhyNotServed(here, {SocketOwner::Answer::kFound, 1001}, 1000), "");
  EXPECT_NE(WhyNotServed(here, {SocketOwner::Answer::kNone, 0}, 1000), "");
  EXPECT_EQ(WhyNotServed(here, {SocketOwner::Answer::kCannotBeAsked, 0}, 1000), "");
  EXPECT_NE(WhyNotServed({*IpAddress::Parse("192.0.2.1"), 1}, {SocketOwner::Answer::kFound, 1000}, 1000), "");
}

}  // namespace
}  // namespace muster::agent
