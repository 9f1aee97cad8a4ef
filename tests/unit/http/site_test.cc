
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/http/test_site.h"

namespace muster::http {
namespace {

const std::string kAct(40, 'a'), kLook(40, 'l');

class SiteTest : public testing::Test {
 protected:
  // Returns the answer, or status 0 if the site asks the core.
  Response Ask(Request request) {
    Response answer{0, "", ""};
    request.host = "localhost:8120";
    test_.site.Handle(request, {.peer = peer_, .connection = 1, .client_key = "p"},
                      [&](const ResponsePtr& response) { answer = *response; });
    return answer;
  }
  static Request Get(const std::string& path) {
    Request request;
    request.target.path = path;
    return request;
  }
  static Request Post(const std::string& path, const std::string& body) {
    Request request = Get(path);
    request.is_post = request.has_action_mark = true;
    request.fetch_site = "same-origin";
    request.body = body;
    return request;
  }
  static Request With(Request request, const std::string& token) {
    request.authorization = "Bearer " + token;
    return request;
  }

  TestSite test_{*Tokens::Of(*Token::Of(kAct), *Token::Of(kLook))};
  const scheduler::PeerFacts peer_ = scheduler::FactsOf("10.0.0.1:4711", nullptr, false);
};

TEST_F(SiteTest, ATokenToLookShowsAllAndChangesNothing) {
  const Request stop = Post("/api/v1/jobs/j/stop", R"({"reason": "x"})");
  EXPECT_EQ(Ask(stop).status, 401);
  for (const std::string& token : {kAct, kLook}) {
    EXPECT_EQ(Ask(With(Get("/api/v1/counters"), token)).status, 200) << token;
    EXPECT_EQ(Ask(With(Get("/api/v1/jobs"), token)).status, 0) << token;
  }
  ASSERT_EQ(test_.asked.size(), 1u) << "both see the same";
  const Response refused = Ask(With(stop, kLook));
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find("--http_token_file"), std::string::npos) << refused.body;
  EXPECT_EQ(test_.counted.Counts().at("http: only looks"), 1u);
  EXPECT_TRUE(test_.posted.empty());
  EXPECT_EQ(Ask(With(stop, kAct)).status, 0);
  EXPECT_EQ(test_.posted.size(), 1u);
}

TEST_F(SiteTest, TheCookieOfALoginIsWorthWhatItsTokenIs) {
  for (const auto& [token, may_change] : {std::pair(kAct, true), std::pair(kLook, false)}) {
    const Response login = Ask(Post("/login", absl::StrCat("{\"token\": \"", token, "\"}")));
    ASSERT_EQ(login.status, 200) << login.body;
    const auto with_cookie = [cookie = login.cookie.substr(0, login.cookie.find(';'))](Request request) {
      request.cookie = cookie;
      return request;
    };
    const Response session = Ask(with_cookie(Get("/api/v1/session")));
    EXPECT_NE(session.body.find("\"by\": \"token\""), std::string::npos) << session.body;
    EXPECT_NE(session.body.find("\"may_view\": true"), std::string::npos) << session.body;
    EXPECT_NE(session.body.find(may_change ? "\"may_change\": true" : "\"may_change\": false"), std::string::npos)
        << session.body;
    EXPECT_EQ(Ask(with_cookie(Get("/api/v1/counters"))).status, 200);
    EXPECT_EQ(Ask(with_cookie(Post("/api/v1/jobs/j/stop", R"({"reason": "x"})"))).status, may_change ? 0 : 403);
    EXPECT_EQ(Ask(With(with_cookie(Get("/api/v1/counters")), std::string(40, 'x'))).status, 401)
        << "a wrong token isn't helped by a cookie";
  }
  EXPECT_EQ(test_.posted.size(), 1u);
}

TEST_F(SiteTest, ALoopThatMakesNoTurnIsUnhealthy) {
  test_.clock.now.monotonic = MonotonicTime() + absl::Seconds(9);
  EXPECT_EQ(Ask(Get("/healthz")).status, 200);
  test_.clock.now.monotonic = MonotonicTime() + absl::Seconds(11);
  for (const char* path : {"/healthz", "/readyz"}) {
    const Response answer = Ask(Get(path));
    EXPECT_EQ(answer.status, 503) << path;
    EXPECT_EQ(answer.body, "the scheduler's loop has stood still for 11 s\n");
  }
}

}  // namespace
}  // namespace muster::http
