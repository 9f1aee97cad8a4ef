#include "worker_agent/gateway/horovod/request.h"

#include <gtest/gtest.h>

namespace muster::horovod {
namespace {

using State = RequestReader::State;

constexpr char kPut[] = "PUT /global/3 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n\r\nhe\0lo";
const std::string& Put() {
  static const auto* const put = new std::string(kPut, sizeof(kPut) - 1);
  return *put;
}

TEST(HorovodRequest, IsTakenHoweverItIsCut) {
  for (size_t step = 1; step <= Put().size(); ++step) {
    RequestReader reader;
    for (size_t at = 0; at < Put().size(); at += step) {
      ASSERT_EQ(reader.Read(Put().substr(at, step)), at + step < Put().size() ? State::kNeedsMore : State::kWhole)
          << at;
    }
    EXPECT_EQ(reader.request().method, Request::Method::kPut);
    EXPECT_EQ(reader.request().scope, "global");
    EXPECT_EQ(reader.request().key, "3");
    EXPECT_EQ(reader.request().body, std::string("he\0lo", 5));
  }
}

TEST(HorovodRequest, WithoutABodyEndsWithItsHeader) {
  for (const char* const method : {"GET", "DELETE"}) {
    RequestReader reader;
    EXPECT_EQ(reader.Read(std::string(method) + " /local_a/0 HTTP/1.0\r\nContent-Length: 0\r\n\r\nmore"),
              State::kWhole);
    EXPECT_EQ(reader.request().scope, "local_a");
    EXPECT_EQ(reader.request().body, "");
    EXPECT_EQ(reader.Read("still more"), State::kWhole);
  }
}

TEST(HorovodRequest, ThatIsNoneIsRefused) {
  const struct {
    std::string text;
    int status;
  } cases[] = {
      {"POST /a/b HTTP/1.1\r\n\r\n", 405},
      {"HEAD /a/b HTTP/1.1\r\n\r\n", 405},
      {"GET /a HTTP/1.1\r\n\r\n", 400},
      {"GET /a/b/c HTTP/1.1\r\n\r\n", 400},
      {"GET //b HTTP/1.1\r\n\r\n", 400},
      {"GET /a/ HTTP/1.1\r\n\r\n", 400},
      {"GET a/b HTTP/1.1\r\n\r\n", 400},
      {"GET http://x/a HTTP/1.1\r\n\r\n", 400},
      {"GET /a/\x7f HTTP/1.1\r\n\r\n", 400},
      {"GET /a/" + std::string(kMaxNameBytes + 1, 'k') + " HTTP/1.1\r\n\r\n", 400},
      {"GET  /a/b HTTP/1.1\r\n\r\n", 400},
      {"GET /a/b\r\n\r\n", 400},
      {"\r\n\r\n", 400},
      {"GET /a/b HTTP/2\r\n\r\n", 505},
      {"GET /a/b HTTP/1.1\r\nno colon\r\n\r\n", 400},
      {"GET /a/b HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n", 400},
      {"GET /a/b HTTP/1.1\r\nHost: a\nContent-Length: 5\r\n\r\n", 400},
      {"PUT /a/b HTTP/1.1\r\n\r\n", 411},
      {"PUT /a/b HTTP/1.1\r\nContent-Length: 5\r\ncontent-length: 5\r\n\r\n", 400},
      {"PUT /a/b HTTP/1.1\r\nContent-Length: -5\r\n\r\n", 400},
      {"PUT /a/b HTTP/1.1\r\nContent-Length: 5, 6\r\n\r\n", 400},
      {"PUT /a/b HTTP/1.1\r\nContent-Length: 18446744073709551617\r\n\r\n", 400},
      {"PUT /a/b HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", 413},
      {"GET /a/b HTTP/1.1\r\nContent-Length: 1\r\n\r\n", 413},
      {"PUT /a/b HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 501},
      {"PUT /a/b HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", 417},
      {std::string(100'000, 'x'), 431},
      {"GET /a/b HTTP/1.1\r\nHost: " + std::string(kMaxHeaderBytes, 'x') + "\r\n\r\n", 431},
  };
  for (const auto& each : cases) {
    RequestReader reader;
    EXPECT_EQ(reader.Read(each.text), State::kBad) << each.text.substr(0, 80);
    EXPECT_EQ(reader.status(), each.status) << each.text.substr(0, 80);
    EXPECT_LE(reader.buffered(), kMaxHeaderBytes + 1);
  }
}

}  // namespace
}  // namespace muster::horovod
