// Clients' requests at the HTTP port, through the parser and the site after it: routing, Host, tokens, cookies,
// queries, actions. The bytes 1 to 4 stand for values that a client could not guess: a token that may act, one that may
// only look, and the cookies of both. A client that shows none of them changes nothing and learns nothing about a job.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/check.h"
#include "scheduler/core/views/job_map.h"
#include "scheduler/core/views/overview.h"
#include "scheduler/http/request.h"
#include "tests/unit/http/test_site.h"

namespace {

using namespace muster;        // NOLINT
using namespace muster::http;  // NOLINT

const std::string kAct(40, 'a'), kLook(40, 'l');

std::string CookieOf(TestSite& test, const std::string& token) {
  Request request;
  request.is_post = request.has_action_mark = true;
  request.target.path = kLoginPath;
  request.host = "localhost";
  request.body = absl::StrCat("{\"token\": \"", token, "\"}");
  std::string cookie;
  const scheduler::PeerFacts peer = scheduler::FactsOf("10.0.0.1:4711", nullptr, false);
  test.site.Handle(request, {.peer = peer}, [&](const ResponsePtr& response) { cookie = response->cookie; });
  return cookie.substr(0, cookie.find(';'));
}

// Returns an answer of the kind that was asked for, or an error.
scheduler::Answer AnswerTo(const scheduler::QueryRequest& request, bool is_error) {
  if (is_error) return {1, absl::UnavailableError("no"), {}};
  switch (request.index()) {
    case 0: {
      v1::StatusReply reply;
      v1::RunStatus& run = *reply.add_runs();
      run.set_job_id("secret");
      run.mutable_last_abort()->add_last_lines("secret");
      return {1, absl::OkStatus(), std::move(reply)};
    }
    case 1:
      return {1, absl::OkStatus(), v1::NodesReply()};
    case 2:
      return {1, absl::OkStatus(), v1::RanksReply()};
    case 3: {
      v1::EventsReply reply;
      reply.add_events()->set_text("secret");
      return {1, absl::OkStatus(), std::move(reply)};
    }
    case 4:
      return {1, absl::OkStatus(), std::make_shared<const scheduler::Overview>()};
    default:
      return {1, absl::OkStatus(), std::make_shared<const scheduler::JobMap>()};
  }
}

void CheckResponse(const Request& request, const Response& response, bool shows_something) {
  static const std::set<int> known = {200, 304, 400, 401, 403, 404, 405, 409, 421, 429, 503};
  MUSTER_CHECK(known.contains(response.status), "a status that is meant");
  const std::string header = HeaderOf(response, true);
  MUSTER_CHECK(header.find("\r\n\r\n") == header.size() - 4, "the header ends where it ends");
  MUSTER_CHECK(header.find('\0') == std::string::npos, "text");
  if (!response.cookie.empty()) {
    MUSTER_CHECK(request.is_post && (request.target.path == kLoginPath || request.target.path == kLogoutPath),
                 "cookies are for logins");
  }
  if (!shows_something) MUSTER_CHECK(response.body.find("secret") == std::string::npos, "nothing of a job is said");
}

void Play(TestSite& test, const Request& request, bool shows_something, bool may_change, bool is_error) {
  const size_t posted = test.posted.size();
  int replies = 0;
  const scheduler::PeerFacts peer = scheduler::FactsOf("10.0.0.1:4711", nullptr, false);
  test.site.Handle(request, {.peer = peer, .connection = 1, .client_key = "p"}, [&](const ResponsePtr& response) {
    ++replies;
    CheckResponse(request, *response, shows_something);
  });
  MUSTER_CHECK(shows_something || test.asked.empty(), "the core is asked nothing for unknown clients");
  while (!test.asked.empty()) test.Answer(AnswerTo(test.asked.front().first, is_error));
  if (test.posted.size() > posted) {
    MUSTER_CHECK(may_change && request.is_post && request.has_action_mark, "only a client with the right to act acts");
    test.queries.Resolve({test.posted.size(), absl::FailedPreconditionError("no"), {}});
    test.posted.clear();
    return;  // (its number may differ)
  }
  MUSTER_CHECK(replies == 1, "each request has one answer");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const auto* const tokens = new Tokens(*Tokens::Of(*Token::Of(kAct), *Token::Of(kLook)));
  TestSite test(*tokens);
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto has = [&](char one) { return bytes.find(one) != std::string::npos; };
  const bool may_change = has('\1') || has('\3'), shows_something = may_change || has('\2') || has('\4');
  bytes = absl::StrReplaceAll(bytes, {{"\1", kAct}, {"\2", kLook}});
  if (has('\3')) bytes = absl::StrReplaceAll(bytes, {{"\3", CookieOf(test, kAct)}});
  if (has('\4')) bytes = absl::StrReplaceAll(bytes, {{"\4", CookieOf(test, kLook)}});
  for (RequestReader reader; reader.Read(bytes) == RequestReader::State::kWhole; reader.Reset()) {
    Play(test, reader.request(), shows_something, may_change, (data[0] & 1) != 0);
    test.clock.Advance(absl::Seconds(data[0] & 2));  // an answer is valid for a quarter of a second
    test.questions.Tick();
  }
  return 0;
}
