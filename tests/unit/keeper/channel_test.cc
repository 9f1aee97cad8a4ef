#include "worker_agent/keeper/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support.h"

namespace muster::agent {
namespace {

class ChannelTest : public ::testing::Test {
 protected:
  ChannelTest() {
    int sockets[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    near_.emplace(UniqueFd(sockets[0]));
    far_.emplace(UniqueFd(sockets[1]));
  }

  // Returns a descriptor from which `text` can be read.
  static std::shared_ptr<const UniqueFd> Holding(const std::string& text) {
    PipeEnds pipe = MakeTestPipe();
    EXPECT_EQ(::write(pipe.write.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    return std::make_shared<const UniqueFd>(std::move(pipe.read));
  }
  static std::string Content(const std::shared_ptr<const UniqueFd>& descriptor) {
    return descriptor == nullptr ? "(none)" : ReadToEnd(*descriptor);
  }
  std::vector<std::string> ReceiveAll(size_t count) {
    std::vector<std::string> frames;
    while (frames.size() < count && far_->Receive(frames)) near_->Flush();
    return frames;
  }

  std::optional<Channel> near_, far_;
};

TEST_F(ChannelTest, DescriptorsComeWithTheirFramesInOrder) {
  const std::string large(3'000'000, 'x');  // far more than a socket's buffer
  near_->Send("a");
  near_->Send("b", Holding("of b"));
  near_->Send("c", Holding("of c"));
  near_->Send(large);
  near_->Send("d", Holding("of d"));
  near_->Send("e");
  const std::vector<std::string> frames = ReceiveAll(6);
  ASSERT_EQ(frames.size(), 6u);
  EXPECT_EQ(frames[2], "c");
  EXPECT_EQ(frames[3], large);
  EXPECT_EQ(frames[4], "d");
  EXPECT_EQ(Content(far_->TakeDescriptor()), "of b");
  EXPECT_EQ(Content(far_->TakeDescriptor()), "of c");
  EXPECT_EQ(Content(far_->TakeDescriptor()), "of d");
  EXPECT_EQ(far_->TakeDescriptor(), nullptr);
}

TEST_F(ChannelTest, OneThatFindsNoPlaceIsMissingAndTheNextIsNotTakenForIt) {
  near_->Send("a", Holding("of a"));
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  std::vector<std::string> frames;
  EXPECT_TRUE(far_->Receive(frames));
  ::setrlimit(RLIMIT_NOFILE, &before);
  near_->Send("b", Holding("of b"));
  EXPECT_TRUE(far_->Receive(frames));
  EXPECT_EQ(frames, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(Content(far_->TakeDescriptor()), "(none)");
  EXPECT_EQ(Content(far_->TakeDescriptor()), "of b");
}

}  // namespace
}  // namespace muster::agent
