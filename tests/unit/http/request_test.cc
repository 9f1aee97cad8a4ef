#include "scheduler/http/request.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::http {
namespace {

struct Outcome {
  RequestReader::State state = RequestReader::State::kNeedsMore;
  int status = 0;
  Request request;
  std::string rest;
};

// Reads `step` bytes at a time, as a network may deliver them.
Outcome ReadAll(const std::string& bytes, size_t step = 4096) {
  RequestReader reader;
  Outcome outcome;
  for (size_t at = 0; at < bytes.size(); at += step) {
    outcome.rest += bytes.substr(at, step);
    if (outcome.state == RequestReader::State::kNeedsMore) outcome.state = reader.Read(outcome.rest);
  }
  outcome.status = reader.error().status;
  outcome.request = reader.request();
  return outcome;
}

TEST(RequestReader, TakesARequestInAnyPieces) {
  const std::string text =
      "GET /metrics?job=a%20b&x= HTTP/1.1\r\nHost: node1:8120\r\nAccept: text/plain\r\nAuthorization: Bearer t\r\n\r\n";
  for (const size_t step : {size_t{1}, size_t{7}, size_t{4096}}) {
    const Outcome outcome = ReadAll(text, step);
    ASSERT_EQ(outcome.state, RequestReader::State::kWhole) << step;
    EXPECT_EQ(outcome.request.target.path, "/metrics");
    EXPECT_EQ(outcome.request.target.query.at("job"), "a b");
    EXPECT_EQ(outcome.request.target.query.at("x"), "");
    EXPECT_EQ(outcome.request.host, "node1:8120");
    EXPECT_EQ(outcome.request.authorization, "Bearer t");
    EXPECT_EQ(outcome.request.accept, "text/plain");
    EXPECT_TRUE(outcome.request.keeps_alive);
    EXPECT_FALSE(outcome.request.is_head);
  }
}

TEST(RequestReader, LeavesTheNextRequestWhereItIs) {
  const std::string next = "GET /b HTTP/1.1\r\nHost: x\r\n\r\n";
  const Outcome outcome = ReadAll("HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + next);
  ASSERT_EQ(outcome.state, RequestReader::State::kWhole);
  EXPECT_TRUE(outcome.request.is_head);
  EXPECT_FALSE(outcome.request.keeps_alive);
  EXPECT_EQ(outcome.rest, next);
}

TEST(RequestReader, RefusesWhatIsNotServed) {
  const std::string host = "Host: x\r\n";
  EXPECT_EQ(ReadAll("PUT / HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabc").status, 405);
  EXPECT_EQ(ReadAll("POST / HTTP/1.1\r\n" + host + "Content-Length: 4097\r\n\r\n").status, 413);
  EXPECT_EQ(ReadAll("POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n").status, 413);
  EXPECT_EQ(ReadAll("GET / HTTP/1.1\r\n" + host + "Cookie: a=b\r\nCookie: c=d\r\n\r\n").status, 400);
  EXPECT_EQ(ReadAll("CONNECT x:1 HTTP/1.1\r\n" + host + "\r\n").status, 405);
  EXPECT_EQ(ReadAll("GET / HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabc").status, 413);
  EXPECT_EQ(ReadAll("GET / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n").status, 413);
  EXPECT_EQ(ReadAll("GET / HTTP/1.1\r\n\r\n").status, 400) << "no Host";
  EXPECT_EQ(ReadAll("GET / HTTP/1.1\r\n" + host + host + "\r\n").status, 400) << "two of them";
  EXPECT_EQ(ReadAll("GET http://x/ HTTP/1.1\r\n" + host + "\r\n").status, 400);
  EXPECT_EQ(ReadAll("GET /../etc/passwd HTTP/1.1\r\n" + host + "\r\n").status, 400);
  EXPECT_EQ(ReadAll("\x16\x03\x01\x02 nonsense\r\n\r\n").status, 400);
  EXPECT_EQ(ReadAll("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").status, 400);
}

TEST(RequestReader, TakesTheBodyOfAPost) {
  const std::string next = "GET /b HTTP/1.1\r\nHost: x\r\n\r\n";
  for (const size_t step : {size_t{1}, size_t{5}, size_t{4096}}) {
    const Outcome outcome = ReadAll(
        "POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nX-Muster-Action: 1\r\nCookie: a=b\r\nOrigin: "
        "http://x\r\nSec-Fetch-Site: same-origin\r\n\r\nhello" +
            next,
        step);
    ASSERT_EQ(outcome.state, RequestReader::State::kWhole) << step;
    EXPECT_TRUE(outcome.request.is_post && outcome.request.has_action_mark);
    EXPECT_EQ(outcome.request.body, "hello");
    EXPECT_EQ(outcome.request.cookie, "a=b");
    EXPECT_EQ(outcome.request.origin, "http://x");
    EXPECT_EQ(outcome.request.fetch_site, "same-origin");
    EXPECT_EQ(outcome.rest, next) << step;
  }
  EXPECT_EQ(ReadAll("POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhell").state,
            RequestReader::State::kNeedsMore);
}

TEST(RequestReader, BoundsTheHeader) {
  EXPECT_EQ(ReadAll("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(kMaxHeaderBytes, 'a'), 1000).status, 431);
  EXPECT_EQ(ReadAll("GET /" + std::string(kMaxHeaderBytes, 'a'), 1000).status, 431);
  std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
  while (many.size() <= kMaxHeaderBytes + 1000) many += "A: b\r\n";
  EXPECT_EQ(ReadAll(many, 1000).status, 431);
}

TEST(ParseTarget, TakesPlainPathsOnly) {
  for (const char* bad :
       {"",     "metrics", "*",    "http://a/", "//a", "/a//b", "/a/../b", "/a/%2e%2e/b", "/a/%2E/b", "/a\\b",
        "/%5c", "/%00",    "/%0a", "/%",        "/%a", "/%zz",  "/?=1",    "/?a=1&a=2",   "/?a=%",    "/?a=1&&b=2"}) {
    EXPECT_FALSE(ParseTarget(bad).ok()) << bad;
  }
  EXPECT_FALSE(ParseTarget("/" + std::string(kMaxTargetBytes, 'a')).ok());
  std::string many = "/?p=1";
  for (size_t i = 0; i < kMaxParameters; ++i) absl::StrAppend(&many, "&p", i, "=1");
  EXPECT_FALSE(ParseTarget(many).ok());
  const absl::StatusOr<Target> good = ParseTarget("/a%2Fb/c?d=e+f&g");
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->path, "/a/b/c");
  EXPECT_EQ(good->query.at("d"), "e f");
  EXPECT_EQ(good->query.at("g"), "");
}

}  // namespace
}  // namespace muster::http
