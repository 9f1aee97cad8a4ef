#include "worker_agent/gateway/torch_store/output.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "tests/unit/torch_store/socket_channel.h"
#include "tests/unit/torch_store/wire.h"

namespace muster::torch_store {
namespace {

class OutputTest : public testing::Test {
 protected:
  OutputTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    stream_ = std::make_unique<SocketChannel>(UniqueFd(ends[0]));
    other_ = UniqueFd(ends[1]);
  }

  std::string Received() {
    std::string all;
    char bytes[65536];
    while (true) {
      const ssize_t size = recv(other_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
      if (size <= 0) return all;
      all.append(bytes, static_cast<size_t>(size));
    }
  }

  ValuePtr Of(std::string text) { return std::make_shared<const Value>(std::move(text), alive_); }

  size_t alive_ = 0;
  Output output_;
  std::vector<char> scratch_ = std::vector<char>(64 * 1024);
  std::unique_ptr<SocketChannel> stream_;
  UniqueFd other_;
};

TEST_F(OutputTest, KeepsTheOrderOfNumbersTextsAndValues) {
  output_.AppendNumber<int64_t>(7);
  output_.AppendText("short");
  output_.AppendValue(Of("small"));
  output_.AppendValue(Of(std::string(5000, 'v')));
  output_.AppendText("end");
  const std::string expected =
      Bytes<int64_t>(7) + Text("short") + Text("small") + Text(std::string(5000, 'v')) + Text("end");
  EXPECT_EQ(output_.bytes(), expected.size());
  EXPECT_EQ(output_.WriteTo(*stream_, scratch_), Stream::Io::kDone);
  EXPECT_TRUE(output_.is_empty());
  EXPECT_EQ(Received(), expected);
}

TEST_F(OutputTest, GoesOnWhereTheSocketWasFull) {
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    const std::string text(static_cast<size_t>(i) * 37 % 9000, static_cast<char>('a' + i % 26));
    output_.AppendValue(Of(text));
    expected += Text(text);
  }
  std::string received;
  int times_full = 0;
  while (!output_.is_empty()) {
    const Stream::Io io = output_.WriteTo(*stream_, scratch_);
    ASSERT_TRUE(io == Stream::Io::kDone || io == Stream::Io::kAgain);
    if (io == Stream::Io::kAgain) ++times_full;
    received += Received();
    EXPECT_EQ(received.size() + output_.bytes(), expected.size());
  }
  EXPECT_GT(times_full, 0);
  EXPECT_EQ(received, expected);
  EXPECT_EQ(alive_, 0U);  // no reference to the values is left
}

TEST_F(OutputTest, AValueIsHeldNotCopied) {
  const ValuePtr value = Of(std::string(1 << 20, 'v'));
  Output others[8];
  for (Output& other : others) other.AppendValue(value);
  EXPECT_EQ(alive_, size_t{1} << 20);
  EXPECT_EQ(value.use_count(), 9);
  EXPECT_LT(others[0].own_bytes(), 200U);  // a reader is charged only for its own part
}

TEST_F(OutputTest, ReportsAPeerThatIsGone) {
  other_ = UniqueFd();
  output_.AppendText("x");
  EXPECT_NE(output_.WriteTo(*stream_, scratch_), Stream::Io::kDone);
}

}  // namespace
}  // namespace muster::torch_store
