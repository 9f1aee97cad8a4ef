#include "common/net/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/unique_fd.h"

namespace muster {
namespace {

class ServiceManagerTest : public testing::Test {
 protected:
  ServiceManagerTest() : name_(absl::StrCat("@muster-test-", ::getpid())) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name_.data() + 1, name_.size() - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  }
  std::string Heard() const {
    char text[512];
    const ssize_t size = ::recv(socket_.get(), text, sizeof text, MSG_DONTWAIT);
    return size < 0 ? "nothing" : std::string(text, static_cast<size_t>(size));
  }
  const std::string name_;
  const UniqueFd socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

TEST_F(ServiceManagerTest, IsToldEachThing) {
  const ServiceManager manager(name_, absl::Seconds(3));
  manager.Ready("listening");
  EXPECT_EQ(Heard(), "READY=1\nSTATUS=listening");
  manager.Status("a line\nREADY=1");
  EXPECT_EQ(Heard(), "STATUS=a line\\nREADY=1");
  manager.Reloading(MonotonicTime() + absl::Milliseconds(2));
  EXPECT_EQ(Heard(), "RELOADING=1\nMONOTONIC_USEC=2000");
  manager.Stopping();
  EXPECT_EQ(Heard(), "STOPPING=1");
}

TEST_F(ServiceManagerTest, ALoopThatStandsStillIsNotAlive) {
  const ServiceManager manager(name_, absl::Seconds(3));
  EXPECT_EQ(manager.interval(), absl::Seconds(1));
  const MonotonicTime turn = MonotonicTime() + absl::Hours(1);
  manager.NotifyIfAlive(turn, turn + absl::Milliseconds(1900));
  EXPECT_EQ(Heard(), "WATCHDOG=1");
  manager.NotifyIfAlive(turn, turn + absl::Seconds(2));
  EXPECT_EQ(Heard(), "nothing");
}

TEST_F(ServiceManagerTest, TheVariablesAreTakenAndNotInherited) {
  ::setenv("NOTIFY_SOCKET", name_.c_str(), 1);
  ::setenv("WATCHDOG_USEC", "1500000", 1);
  ::setenv("WATCHDOG_PID", absl::StrCat(::getpid()).c_str(), 1);
  const ServiceManager manager = ServiceManager::Take();
  EXPECT_EQ(manager.interval(), absl::Milliseconds(500));
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) EXPECT_EQ(::getenv(name), nullptr);
  manager.Stopping();
  EXPECT_EQ(Heard(), "STOPPING=1");
  ::setenv("WATCHDOG_USEC", "1500000", 1);
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(ServiceManager::Take().interval(), absl::InfiniteDuration()) << "it is another process's";
}

TEST_F(ServiceManagerTest, WithoutListenerNothingHappens) {
  for (const std::string& socket : {std::string(), std::string("vsock:2:1"), std::string("/nowhere/notify"),
                                    std::string(200, '/'), std::string("@")}) {
    ServiceManager(socket, absl::InfiniteDuration()).Ready("listening");
  }
  EXPECT_EQ(Heard(), "nothing");
}

}  // namespace
}  // namespace muster
