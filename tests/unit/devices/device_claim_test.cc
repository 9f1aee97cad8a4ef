#include "worker_agent/devices/device_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>

#include "../launch/temporary_folder.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DeviceClaim : public testing::Test {
 protected:
  DeviceClaim() {
    for (const char* name : {"davinci0", "davinci1", "davinci2"}) folder_.Write(name, "");
  }
  DeviceClaimOptions Options(const std::string& job) { return {"Ascend", folder_.path(), job, 1'790'000'000'000}; }

  // Starts a child that claims device 0 as `uid` and holds it until it is killed. Returns 0 if the child could not
  // claim it.
  pid_t Holder(uid_t uid) {
    int ready[2];
    if (pipe(ready) != 0) return 0;
    const pid_t pid = fork();
    if (pid == 0) {
      const bool is_other = uid == geteuid() || (setgid(uid) == 0 && setuid(uid) == 0);
      const auto claims = ClaimDevices({0}, Options("digits"));
      const char ok = is_other && claims.ok() && claims->warnings.empty() ? 'y' : 'n';
      if (write(ready[1], &ok, 1) != 1) _exit(1);
      while (true) pause();
    }
    close(ready[1]);
    char ok = 'n';
    const bool has_claimed = read(ready[0], &ok, 1) == 1 && ok == 'y';
    close(ready[0]);
    if (has_claimed) return pid;
    End(pid);
    return 0;
  }
  static void End(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }

  static std::string NameOf(const UniqueFd& claim) {
    sockaddr_un address{};
    socklen_t size = sizeof(address);
    EXPECT_EQ(getsockname(claim.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    return {address.sun_path + 1, size - offsetof(sockaddr_un, sun_path) - 1};
  }
  // A socket that has the name but does not listen.
  static UniqueFd Silent(const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    UniqueFd silent(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(bind(silent.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    return silent;
  }

  TemporaryFolder folder_;
};

TEST_F(DeviceClaim, IsRefusedByNameAndEndsWithItsHolder) {
  const pid_t holder = Holder(geteuid());
  ASSERT_NE(holder, 0);
  const auto refused = ClaimDevices({1, 0}, Options("words"));
  EXPECT_TRUE(absl::IsUnavailable(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()),
              AllOf(HasSubstr("device 0 is used by job digits"), HasSubstr(absl::StrCat("pid ", holder)),
                    HasSubstr("since 2026-09-21"), HasSubstr("--devices")));
  End(holder);
  const auto claims = ClaimDevices({1, 0}, Options("words"));
  EXPECT_TRUE(claims.ok()) << claims.status() << " (device 1 was given back when 0 was refused)";
}

TEST_F(DeviceClaim, OthersAreNotTouched) {
  const auto first = ClaimDevices({0, 2}, Options("digits"));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(ClaimDevices({1}, Options("words")).ok());
  EXPECT_FALSE(ClaimDevices({2}, Options("words")).ok());
  EXPECT_TRUE(ClaimDevices({}, Options("words")).ok());
}

TEST_F(DeviceClaim, ManyThatAskDoNotHideTheHolder) {
  const auto first = ClaimDevices({0}, Options("digits"));
  ASSERT_TRUE(first.ok()) << first.status();
  for (int i = 0; i < 300; ++i) {
    const auto refused = ClaimDevices({0}, Options("words"));
    ASSERT_THAT(std::string(refused.status().message()), HasSubstr(absl::StrCat("pid ", getpid()))) << i;
  }
}

TEST_F(DeviceClaim, OfAnUnidentifiedProgramRefusesNoNode) {
  std::string name;
  {
    const auto claims = ClaimDevices({0}, Options("digits"));
    ASSERT_TRUE(claims.ok()) << claims.status();
    name = NameOf(claims->held.back());
  }
  const UniqueFd silent = Silent(name);
  const auto claims = ClaimDevices({0}, Options("words"));
  ASSERT_TRUE(claims.ok()) << claims.status();
  EXPECT_THAT(claims->warnings, ElementsAre(HasSubstr("an unidentified program")));
}

TEST_F(DeviceClaim, OfAProgramThatCannotUseTheDeviceRefusesNoNode) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(chmod((folder_.path() + "/davinci0").c_str(), 0660), 0);
  const pid_t foreign = Holder(12345);
  ASSERT_NE(foreign, 0);
  const auto claims = ClaimDevices({0}, Options("words"));
  ASSERT_TRUE(claims.ok()) << claims.status();
  EXPECT_THAT(claims->warnings, ElementsAre(AllOf(HasSubstr("uid 12345"), HasSubstr("can't use"))));
  ASSERT_EQ(chmod((folder_.path() + "/davinci0").c_str(), 0666), 0);
  EXPECT_FALSE(ClaimDevices({0}, Options("words")).ok()) << "everybody can use it now";
  End(foreign);
}

TEST_F(DeviceClaim, IsTakenInOneOrderByAll) {
  const auto claims = ClaimDevices({2, 0, 1}, Options("digits"));
  ASSERT_TRUE(claims.ok()) << claims.status();
  std::vector<std::string> names;
  for (const UniqueFd& fd : claims->held) names.push_back(NameOf(fd));
  EXPECT_THAT(names, ElementsAre(HasSubstr("muster-devices-of/"), HasSubstr("davinci0"), HasSubstr("davinci1"),
                                 HasSubstr("davinci2")));
}

TEST_F(DeviceClaim, IsOnTheDeviceHoweverAContainerNumbersIt) {
  const TemporaryFolder other;
  const auto make = [](const TemporaryFolder& folder, const char* name, unsigned minor) {
    const std::string path = absl::StrCat(folder.path(), "/", name);
    unlink(path.c_str());
    return mknod(path.c_str(), S_IFCHR | 0600, makedev(250, minor)) == 0;
  };
  if (!make(folder_, "davinci0", 77)) GTEST_SKIP() << "needs root";
  ASSERT_TRUE(make(other, "davinci5", 77) && make(other, "davinci0", 78));
  const DeviceClaimOptions theirs = {"Ascend", other.path(), "words", 1};
  const auto claims = ClaimDevices({0}, Options("digits"));
  ASSERT_TRUE(claims.ok()) << claims.status();
  EXPECT_TRUE(absl::IsUnavailable(ClaimDevices({5}, theirs).status()));
  EXPECT_TRUE(ClaimDevices({0}, theirs).ok()) << "another device of the same name";
}

TEST_F(DeviceClaim, WhatOthersSayOfTheHolderIsNotBelieved) {
  const pid_t holder = Holder(geteuid());
  ASSERT_NE(holder, 0);
  std::vector<UniqueFd> forged;
  for (int i = 0; i < 30; ++i) {
    forged.push_back(Silent(absl::StrCat("muster-devices-of/", holder, "/", i, "/forged")));
    ASSERT_EQ(listen(forged.back().get(), 1), 0);
  }
  const auto refused = ClaimDevices({0}, Options("words"));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("device 0 is used by job digits"));
  End(holder);
}

// Any user may take such names and not listen. That must not delay an agent's start for long.
TEST_F(DeviceClaim, ForgedNamesDoNotHoldUpAStart) {
  const pid_t holder = Holder(geteuid());
  ASSERT_NE(holder, 0);
  std::vector<UniqueFd> forged;
  for (int i = 0; i < 64; ++i) forged.push_back(Silent(absl::StrCat("muster-devices-of/", holder, "/", i, "/forged")));
  absl::Time begin = absl::Now();
  EXPECT_TRUE(absl::IsUnavailable(ClaimDevices({0}, Options("words")).status()));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(1));
  End(holder);

  std::vector<uint32_t> devices;
  for (uint32_t i = 0; i < 64; ++i) devices.push_back(i);
  std::vector<std::string> names;
  {
    const auto claims = ClaimDevices(devices, Options("words"));
    ASSERT_TRUE(claims.ok()) << claims.status();
    for (size_t i = 1; i < claims->held.size(); ++i) names.push_back(NameOf(claims->held[i]));  // (0 is our own)
  }
  for (const std::string& name : names) forged.push_back(Silent(name));
  begin = absl::Now();
  const auto claims = ClaimDevices(devices, Options("words"));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(1));
  ASSERT_TRUE(claims.ok()) << claims.status();
  ASSERT_EQ(claims->warnings.size(), 64U);
  EXPECT_THAT(claims->warnings[3], HasSubstr("an unidentified program"));
  EXPECT_THAT(claims->warnings[4], HasSubstr("held by another program"));
}

}  // namespace
}  // namespace muster::agent
