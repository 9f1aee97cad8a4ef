#include "common/sys/secret_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace muster {
namespace {

TEST(SecretDescriptor, HandsOverWhatItWasGiven) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{70'000}, kMaxSecretBytes}) {
    const std::string secret(size, 's');
    const absl::StatusOr<int> memory = MakeSecretDescriptor(secret);
    ASSERT_TRUE(memory.ok()) << memory.status();
    EXPECT_EQ(*TakeSecret(*memory), secret) << size;
    const absl::StatusOr<int> pipe = MakeSecretPipe(secret);
    ASSERT_TRUE(pipe.ok()) << pipe.status();
    EXPECT_EQ(*TakeSecret(*pipe), secret) << size;
  }
}

TEST(SecretDescriptor, IsClosedByExecAndCannotBeChanged) {
  const absl::StatusOr<int> fd = MakeSecretDescriptor("secret");
  ASSERT_TRUE(fd.ok());
  EXPECT_EQ(fcntl(*fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_LT(write(*fd, "x", 1), 0);
  EXPECT_NE(ftruncate(*fd, 0), 0);
  EXPECT_EQ(*TakeSecret(*fd), "secret");
  EXPECT_LT(fcntl(*fd, F_GETFD), 0) << "closed";
}

TEST(SecretDescriptor, HasALimit) {
  const std::string secret(kMaxSecretBytes + 1, 's');
  EXPECT_FALSE(MakeSecretDescriptor(secret).ok());
  EXPECT_FALSE(MakeSecretPipe(secret).ok());
}

TEST(SecretDescriptor, OneThatIsNotOpenIsAnError) { EXPECT_FALSE(TakeSecret(9999).ok()); }

}  // namespace
}  // namespace muster
