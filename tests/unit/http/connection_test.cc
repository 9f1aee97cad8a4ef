#include "scheduler/http/connection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/core/views/job_map.h"
#include "tests/unit/http/test_site.h"

namespace muster::http {
namespace {

// One client with a socket that takes little at a time.
class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    const int bytes = 16 * 1024;
    EXPECT_EQ(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)), 0);
    client_ = UniqueFd(ends[1]);
    context_.counted = std::make_shared<CountedLog>(test_.clock);
    context_.post = [this](uint64_t, const std::function<void(TcpConnection&)>& take) { take(*connection_); };
    context_.now = Now();
    TcpClient client;
    client.connection = 1;
    connection_ = std::make_unique<HttpConnection>(Stream(UniqueFd(ends[0])), client, test_.site,
                                                   /*takes_names=*/false, context_);
    connection_->Adopt();
  }

  MonotonicTime Now() const { return test_.clock.now.monotonic; }
  void Say(const std::string& text) {
    ASSERT_EQ(write(client_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    connection_->Serve();
  }
  std::string Hear(size_t most = 1 << 20) {
    std::string text(most, '\0');
    const ssize_t size = read(client_.get(), text.data(), text.size());
    text.resize(size < 0 ? 0 : static_cast<size_t>(size));
    return text;
  }
  void Pass(absl::Duration time) {
    test_.clock.Advance(time);
    context_.now = Now();
    connection_->Serve();
    connection_->CheckTimes();
    connection_->Serve();
  }
  // Asks for a map of `bytes` bytes.
  void AskForMap(size_t bytes) {
    Say("GET /api/v1/jobs/j/map HTTP/1.1\r\nHost: localhost\r\n\r\n");
    auto map = std::make_shared<scheduler::JobMap>();
    map->slots = std::string(bytes, 'r');
    test_.Answer({1, absl::OkStatus(), std::shared_ptr<const scheduler::JobMap>(std::move(map))});
    connection_->Serve();
  }

  TestSite test_;
  TcpServerContext context_;
  UniqueFd client_;
  std::unique_ptr<HttpConnection> connection_;
};

TEST_F(ConnectionTest, AnswersOneRequestAfterTheOther) {
  Say("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n");
  connection_->Serve();
  const std::string heard = Hear();
  EXPECT_NE(heard.find("HTTP/1.1 200 OK"), std::string::npos) << heard;
  EXPECT_NE(heard.find("HTTP/1.1 404 Not Found"), std::string::npos) << heard;
}

TEST_F(ConnectionTest, ARequestThatDripsInIsGivenUpTenSecondsAfterItsFirstByte) {
  Say("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: ");
  for (int i = 0; i < 19; ++i) {
    Pass(absl::Seconds(0.5));
    Say("a");
    ASSERT_EQ(Hear(), "") << i;
  }
  Pass(absl::Seconds(1));
  const std::string heard = Hear();
  EXPECT_EQ(heard.substr(0, 28), "HTTP/1.1 408 Request Timeout") << heard;
  EXPECT_NE(heard.find("Connection: close"), std::string::npos);
  Pass(absl::Seconds(2));
  EXPECT_TRUE(connection_->is_finished());
}

TEST_F(ConnectionTest, TheTimeOfARequestBeginsWithItsOwnFirstByte) {
  Say("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Pass(absl::Seconds(60));
  Say("GET /healthz HTTP/1.1\r\n");
  Pass(absl::Seconds(9));
  Say("Host: localhost\r\n\r\n");
  EXPECT_EQ(Hear().find("408"), std::string::npos);
  EXPECT_FALSE(connection_->is_finished());
}

// Clients with a token that ask all the time must leave places of their address free, so that health checks get in.
TEST(Connections, OnlySomeOfAClientsConnectionsStayForTheirToken) {
  const std::string token(32, 't');
  TestSite test(*Tokens::Of(*Token::Of(token), std::nullopt));
  TcpServerContext context;
  context.counted = std::make_shared<CountedLog>(test.clock);
  context.post = [](uint64_t, const std::function<void(TcpConnection&)>&) {};
  context.now = test.clock.now.monotonic;
  const std::string asks =
      "GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n\r\n";
  const auto connect = [&](uint64_t number, UniqueFd& end) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    end = UniqueFd(ends[1]);
    TcpClient client;
    client.connection = number;
    auto made = std::make_unique<HttpConnection>(Stream(UniqueFd(ends[0])), client, test.site, false, context);
    made->Adopt();
    EXPECT_EQ(write(end.get(), asks.data(), asks.size()), static_cast<ssize_t>(asks.size()));
    made->Serve();
    return made;
  };
  std::vector<UniqueFd> clients(128);  // half of the places, the share of one client
  std::vector<std::unique_ptr<HttpConnection>> made;
  for (size_t i = 0; i < clients.size(); ++i) made.push_back(connect(i + 1, clients[i]));
  const auto stays = [](const auto& connection) { return connection->yields() == 0; };
  EXPECT_EQ(std::count_if(made.begin(), made.end(), stays), 48);
  made.front().reset();
  made.push_back(connect(1'000, clients[0]));
  EXPECT_TRUE(stays(made.back())) << "there is room again";
  made.erase(made.begin());
}

TEST_F(ConnectionTest, AReaderThatIsTooSlowIsCutOff) {
  AskForMap(4 << 20);
  for (int i = 0; i < 40 && !connection_->is_finished(); ++i) {  // the client never stops reading
    EXPECT_NE(Hear(8 * 1024), "");
    Pass(absl::Seconds(1));
  }
  EXPECT_TRUE(connection_->is_finished());
  EXPECT_LT(Now(), MonotonicTime::FromNanoseconds(0) + absl::Seconds(15)) << "8 KiB/s are too little after 10 s";
  connection_.reset();
  EXPECT_EQ(test_.site.under_way().bytes(), 0u);
}

TEST_F(ConnectionTest, AReaderThatIsSlowButNotTooSlowGetsItsAnswer) {
  AskForMap(4 << 20);
  EXPECT_GT(test_.site.under_way().bytes(), size_t{4} << 20);
  size_t heard = 0;
  for (int i = 0; i < 400 && heard <= (4 << 20); ++i) {
    for (int k = 0; k < 8; ++k) {
      heard += Hear(8 * 1024).size();
      connection_->Serve();
    }
    Pass(absl::Seconds(1));
  }
  EXPECT_GT(heard, size_t{4} << 20);
  EXPECT_FALSE(connection_->is_finished());
  EXPECT_EQ(test_.site.under_way().bytes(), 0u);
}

TEST(UnderWay, IsBoundedAndCountsWhatManyReadOnce) {
  UnderWay under_way;
  const Response large{200, kJson, std::string(UnderWay::kMaxBytes / 2, 'x')};
  const Response other = large, third = large, small{200, kJson, "{}"};
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(under_way.Begin(large));
  EXPECT_TRUE(under_way.Begin(other));
  EXPECT_FALSE(under_way.Begin(third));
  EXPECT_TRUE(under_way.Begin(small));
  EXPECT_TRUE(under_way.Begin(large)) << "it is there already";
  under_way.End(small);
  under_way.End(other);
  EXPECT_TRUE(under_way.Begin(third));
  under_way.End(third);
  under_way.End(third);
  for (int i = 0; i < 101; ++i) under_way.End(large);
  EXPECT_EQ(under_way.bytes(), 0u);
}

}  // namespace
}  // namespace muster::http
