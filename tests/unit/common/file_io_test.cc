#include "common/sys/file_io.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace muster {
namespace {

using ::testing::HasSubstr;

class FileIoTest : public ::testing::Test {
 protected:
  FileIoTest() {
    char folder[] = "/tmp/muster-file-io-test-XXXXXX";
    folder_ = mkdtemp(folder);
  }
  ~FileIoTest() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string Error(const absl::StatusOr<std::string>& read) { return std::string(read.status().message()); }

  std::string folder_;
};

TEST_F(FileIoTest, ReadsARegularFileAlsoThroughALink) {
  std::ofstream(Path("file")) << "12345";
  std::filesystem::create_symlink("file", Path("link"));
  EXPECT_EQ(*ReadSmallFile(Path("link"), 5), "12345");
  EXPECT_THAT(Error(ReadSmallFile(Path("link"), 4)), HasSubstr("is larger than the 4 bytes"));
  EXPECT_EQ(*ReadSmallFileOrPipe(Path("file"), 5, absl::ZeroDuration()), "12345");
  const absl::Status missing = ReadSmallFile(Path("none"), 5).status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_EQ(missing.message(), Path("none") + " can't be read: No such file or directory");
}

// None of these calls blocks.
TEST_F(FileIoTest, RefusesAnythingElseByItsName) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  Path("socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(Error(ReadSmallFile(Path("pipe"), 5)), Path("pipe") + " is a pipe, not a regular file");
  EXPECT_THAT(Error(ReadSmallFile(Path("socket"), 5)), HasSubstr("is a socket, not"));
  EXPECT_THAT(Error(ReadSmallFile(folder_, 5)), HasSubstr("is a directory, not"));
  EXPECT_THAT(Error(ReadSmallFile("/dev/zero", 5)), HasSubstr("/dev/zero is a device, not"));
  EXPECT_THAT(Error(ReadSmallFileOrPipe("/dev/zero", 5, absl::InfiniteDuration())), HasSubstr("is a device"));
}

TEST_F(FileIoTest, APipeIsReadToItsEndWithinItsTime) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const auto read = [&](absl::Duration patience) { return ReadSmallFileOrPipe(Path("pipe"), 5, patience); };
  EXPECT_THAT(Error(read(absl::InfiniteDuration())), HasSubstr("no program writes to it"));

  const auto write_and_keep = [&](const std::string& text) {
    UniqueFd end(open(Path("pipe").c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_EQ(write(end.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    return end;
  };
  const UniqueFd reader(open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));  // keeps the written bytes
  write_and_keep("12345").reset();
  EXPECT_EQ(*read(absl::InfiniteDuration()), "12345");
  write_and_keep("123456").reset();
  EXPECT_THAT(Error(read(absl::InfiniteDuration())), HasSubstr("is larger than the 5 bytes"));
  const UniqueFd writer = write_and_keep("123");
  const absl::Status open_still = read(absl::Milliseconds(1)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(open_still)) << open_still;
}

}  // namespace
}  // namespace muster
