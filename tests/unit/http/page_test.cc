#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "scheduler/http/access.h"
#include "scheduler/http/page/actions.h"
#include "scheduler/http/page/assets.h"
#include "scheduler/http/page/login.h"

namespace muster::http {
namespace {

constexpr MonotonicTime kNow = MonotonicTime::FromNanoseconds(1'000'000'000'000);

Request Meant(const std::string& path, const std::string& body) {
  Request request;
  request.is_post = request.has_action_mark = true;
  request.target.path = path;
  request.host = "localhost:8120";
  request.origin = "http://localhost:8120";
  request.fetch_site = "same-origin";
  request.body = body;
  return request;
}

TEST(FindAsset, HasThePageAndAllItNames) {
  const ResponsePtr page = FindAsset("/", "");
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->content_type, "text/html; charset=utf-8");
  EXPECT_NE(page->body.find("<script type=\"module\" src=\"/main.js\">"), std::string::npos);
  EXPECT_EQ(page->body.find("<script>"), std::string::npos) << "nothing stands in the page itself";
  size_t bytes = 0;
  std::set<std::string> paths;
  for (const Asset* asset = kAssets; asset->path != nullptr; ++asset) {
    EXPECT_TRUE(paths.insert(asset->path).second);
    EXPECT_FALSE(std::string(asset->content_type).empty()) << asset->path;
    EXPECT_EQ(asset->text.find("http://"), asset->text.find("http://www.w3.org/")) << asset->path << ": from elsewhere";
    EXPECT_EQ(asset->text.find("innerHTML"), std::string::npos) << asset->path;
    bytes += asset->text.size();
  }
  EXPECT_TRUE(paths.contains("/style.css") && paths.contains("/main.js") && paths.contains("/icon.svg"));
  EXPECT_LT(bytes, 200'000u);
  EXPECT_EQ(FindAsset("/nothing.js", ""), nullptr);
  EXPECT_EQ(FindAsset("/index.html", ""), nullptr);
}

TEST(FindAsset, IsNotSentTwice) {
  const ResponsePtr whole = FindAsset("/main.js", "\"other\"");
  EXPECT_EQ(whole->status, 200);
  for (const std::string& known : {whole->etag, "W/" + whole->etag, "\"a\", " + whole->etag, std::string("*")}) {
    const ResponsePtr unchanged = FindAsset("/main.js", known);
    EXPECT_EQ(unchanged->status, 304) << known;
    EXPECT_TRUE(unchanged->body.empty());
  }
  EXPECT_NE(whole->etag, FindAsset("/style.css", "")->etag);
}

TEST(HeaderOf, HasTheRulesForBrowsers) {
  const std::string page = HeaderOf(*FindAsset("/", ""), true);
  for (const char* line :
       {"Cache-Control: no-cache\r\n", "ETag: \"", "script-src 'self';", "frame-ancestors 'none'\r\n",
        "X-Content-Type-Options: nosniff\r\n", "X-Frame-Options: DENY\r\n", "Referrer-Policy: no-referrer\r\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(page.find("unsafe-inline"), std::string::npos);
  const std::string data = HeaderOf(*MakeResponse(200, kJson, "{}"), true);
  EXPECT_NE(data.find("Cache-Control: no-store\r\nContent-Security-Policy: default-src 'none';"), std::string::npos);
  Response unchanged = *FindAsset("/", "*");
  EXPECT_EQ(HeaderOf(unchanged, true).find("Content-Length"), std::string::npos) << "304 has none of its own";
}

TEST(Sessions, EndByThemselves) {
  Sessions sessions;
  const std::string word = sessions.Begin(Role::kAct, kNow);
  EXPECT_EQ(word.size(), 64u);
  EXPECT_EQ(sessions.Find(word, kNow + Sessions::kLife - absl::Seconds(1)), Role::kAct);
  EXPECT_EQ(sessions.Find(word, kNow + Sessions::kLife), std::nullopt);
  EXPECT_EQ(sessions.Find("", kNow), std::nullopt);
  EXPECT_EQ(sessions.Find(word + "0", kNow), std::nullopt);
  const std::string other = sessions.Begin(Role::kAct, kNow);
  EXPECT_NE(word, other);
  sessions.End(word);
  EXPECT_EQ(sessions.Find(word, kNow), std::nullopt);
  EXPECT_EQ(sessions.Find(other, kNow), Role::kAct);
}

TEST(Sessions, AreBounded) {
  Sessions sessions;
  const std::string first = sessions.Begin(Role::kAct, kNow);
  for (size_t i = 1; i <= Sessions::kMost; ++i) sessions.Begin(Role::kAct, kNow + absl::Seconds(i));
  EXPECT_EQ(sessions.size(), Sessions::kMost);
  EXPECT_EQ(sessions.Find(first, kNow + absl::Minutes(2)), std::nullopt) << "the oldest";
}

TEST(LoginLimit, IsForEachClientAndForAll) {
  LoginLimit limit;
  for (int i = 0; i < LoginLimit::kOfOne; ++i) {
    EXPECT_TRUE(limit.MayTry("10.0.0.1", kNow)) << i;
    limit.NoteWrong("10.0.0.1", kNow);
  }
  EXPECT_FALSE(limit.MayTry("10.0.0.1", kNow));
  EXPECT_TRUE(limit.MayTry("10.0.0.2", kNow));
  EXPECT_TRUE(limit.MayTry("10.0.0.1", kNow + LoginLimit::kAnother));
  for (int i = LoginLimit::kOfOne; i < LoginLimit::kOfAll; ++i) limit.NoteWrong(absl::StrCat("10.1.0.", i), kNow);
  EXPECT_FALSE(limit.MayTry("10.0.0.3", kNow)) << "too many from everybody";
  EXPECT_TRUE(limit.MayTry("10.0.0.3", kNow + LoginLimit::kAnotherOfAll));
  for (size_t i = 0; i < 2 * LoginLimit::kMaxClients; ++i) limit.NoteWrong(absl::StrCat("p", i), kNow);
  EXPECT_LE(limit.clients(), LoginLimit::kMaxClients);
  limit.NoteWrong("late", kNow + absl::Hours(1));
  EXPECT_EQ(limit.clients(), 1u) << "those with all their tries are forgotten";
}

TEST(Cookies, AreNamedByPortAndBoundToThisHost) {
  EXPECT_EQ(CookieName("node1:8120", false), "muster-8120");
  EXPECT_EQ(CookieName("node1", true), "__Host-muster");
  EXPECT_EQ(CookieName("[::1]", false), "muster");
  EXPECT_EQ(CookieName("[::1]:80", false), "muster-80");
  EXPECT_EQ(CookieIn("a=b; muster-8120=word; muster-8120x=other", "muster-8120"), "word");
  EXPECT_EQ(CookieIn("xmuster-8120=word", "muster-8120"), "");
  EXPECT_EQ(SetCookie("m", "w", false), "m=w; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200");
  EXPECT_EQ(SetCookie("__Host-m", "w", true), "__Host-m=w; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure");
  EXPECT_NE(SetCookie("m", "", false).find("Max-Age=0"), std::string::npos);
}

TEST(CheckOwnPage, TakesNothingThatAnotherSiteCanSend) {
  const auto check = [](auto change, bool by_cookie) {
    Request request = Meant("/login", "{}");
    change(request);
    return CheckOwnPage(request, by_cookie).ok();
  };
  for (const bool by_cookie : {false, true}) {
    EXPECT_TRUE(check([](Request&) {}, by_cookie));
    EXPECT_FALSE(check([](Request& r) { r.has_action_mark = false; }, by_cookie));
    for (const char* site : {"cross-site", "same-site", "none"}) {
      EXPECT_FALSE(check([&](Request& r) { r.fetch_site = site; }, by_cookie)) << site;
    }
    for (const char* origin : {"null", "http://evil.example", "http://localhost:8121", "http://localhost",
                               "http://localhost:8120.evil.example", "https://localhost:8120@evil.example"}) {
      EXPECT_FALSE(check([&](Request& r) { r.origin = origin; }, by_cookie)) << origin;
    }
    EXPECT_TRUE(check([](Request& r) { r.origin = ""; }, by_cookie)) << "Sec-Fetch-Site says it";
    EXPECT_TRUE(check([](Request& r) { r.fetch_site = ""; }, by_cookie)) << "Origin says it";
    EXPECT_EQ(check([](Request& r) { r.origin = r.fetch_site = ""; }, by_cookie), !by_cookie);
  }
}

TEST(ParseAction, TakesTheUserAndTheReason) {
  const auto stop = ParseAction(Meant("/api/v1/jobs/train/stop", R"({"reason": "bad loss", "run": 3})"), "10.0.0.1");
  ASSERT_TRUE(stop.ok()) << stop.status();
  EXPECT_EQ(std::get<v1::StopRequest>(stop->request).job_id(), "train");
  EXPECT_EQ(std::get<v1::StopRequest>(stop->request).reason(), "bad loss");
  EXPECT_EQ(std::get<v1::StopRequest>(stop->request).user(), "10.0.0.1");
  EXPECT_EQ(std::get<v1::StopRequest>(stop->request).run(), 3u);
  EXPECT_TRUE(std::holds_alternative<scheduler::StopRequested>(EventOf(1, *stop)));
  const auto drain = ParseAction(
      Meant("/api/v1/jobs/train/drain", R"({"reason": "hot", "node_id": "n1", "user": "ann"})"), "10.0.0.1");
  ASSERT_TRUE(drain.ok()) << drain.status();
  EXPECT_EQ(std::get<v1::SteerRequest>(drain->request).action(), v1::SteerRequest::DRAIN);
  EXPECT_EQ(std::get<v1::SteerRequest>(drain->request).node_id(), "n1");
  EXPECT_EQ(std::get<v1::SteerRequest>(drain->request).user(), "ann (10.0.0.1)");
}

TEST(ParseAction, RefusesWhatItDoesNotKnow) {
  for (const char* body :
       {"", "[]", "{", "{}", R"({"reason": ""})", R"({"reason": "  "})", R"({"reason": 3})",
        R"({"reason": "x", "run": -1})", R"({"reason": "x", "run": "1"})", "{\"reason\": \"a\\nb\"}"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseAction(Meant("/api/v1/jobs/j/stop", body), "a").status())) << body;
  }
  const std::string good = R"({"reason": "x"})";
  EXPECT_FALSE(ParseAction(Meant("/api/v1/jobs/j/drain", good), "a").ok()) << "no node";
  for (const char* path : {"/api/v1/jobs/j/fence", "/api/v1/jobs/j", "/api/v1/jobs/j/stop/x", "/api/v1/events"}) {
    EXPECT_TRUE(absl::IsNotFound(ParseAction(Meant(path, good), "a").status())) << path;
  }
  EXPECT_FALSE(ParseAction(Meant("/api/v1/jobs/a b/stop", good), "a").ok());
}

TEST(ParseAction, AsksIntoProcessesWithoutAReason) {
  const auto stacks = ParseAction(Meant("/api/v1/jobs/j/stacks", R"({"run": 3, "ranks": [4, 1]})"), "a");
  ASSERT_TRUE(stacks.ok()) << stacks.status();
  const auto& asked = std::get<v1::StacksRequest>(stacks->request);
  EXPECT_EQ(asked.run(), 3u);
  EXPECT_THAT(asked.ranks(), ::testing::ElementsAre(4, 1));
  EXPECT_TRUE(std::holds_alternative<scheduler::StacksRequested>(EventOf(1, *stacks)));
  EXPECT_TRUE(ParseAction(Meant("/api/v1/jobs/j/stacks", "{}"), "a").ok()) << "the slowest";
  const auto logs = ParseAction(Meant("/api/v1/jobs/j/logs", R"({"rank": 4, "lines": 20})"), "a");
  ASSERT_TRUE(logs.ok()) << logs.status();
  EXPECT_EQ(std::get<v1::LogsRequest>(logs->request).lines(), 20u);
  EXPECT_TRUE(std::holds_alternative<scheduler::LogsRequested>(EventOf(1, *logs)));
  std::string many = "0";
  for (size_t i = 0; i < kMaxStackRanks; ++i) absl::StrAppend(&many, ", ", i);
  const std::map<std::string, std::vector<std::string>> wrong = {
      {"stacks",
       {R"("ranks": 1)", R"("ranks": [-1])", R"("ranks": ["1"])", R"("ranks": [4294967296])",
        absl::StrCat("\"ranks\": [", many, "]"), R"("reason": "x")", R"("rank": 1)"}},
      {"logs", {"", R"("rank": -1)", R"("rank": 1, "lines": 1001)", R"("rank": 1, "ranks": [1])"}}};
  for (const auto& [verb, bodies] : wrong) {
    for (const std::string& members : bodies) {
      const auto action = ParseAction(Meant("/api/v1/jobs/j/" + verb, absl::StrCat("{", members, "}")), "a");
      EXPECT_TRUE(absl::IsInvalidArgument(action.status())) << verb << " " << members << ": " << action.status();
    }
  }
}

TEST(ParseAction, DoesNothingWhereSomethingHasNoMeaning) {
  Request query = Meant("/api/v1/jobs/j/stop", R"({"reason": "x"})");
  query.target.query["run"] = "1";
  EXPECT_TRUE(absl::IsInvalidArgument(ParseAction(query, "a").status())) << "the latest run would be stopped";
  const std::map<std::string, std::vector<std::string>> wrong = {
      {"stop", {R"("node_id": "n")", R"("round": 1)", R"("force": true)", R"("Run": 1)", R"("user": null)"}},
      {"restart", {R"("node_id": "n")", R"("round": -1)", R"("round": 4294967296)", R"("round": null)"}},
      {"drain", {R"("node_id": "n", "round": 1)", R"("node_id": "n", "nodes": [])", R"("node_id": "n", "now": 1)"}},
      {"undrain", {R"("node_id": 3)", R"("node_id": "n", "now": true)"}}};
  for (const auto& [verb, bodies] : wrong) {
    for (const std::string& members : bodies) {
      const auto action =
          ParseAction(Meant("/api/v1/jobs/j/" + verb, absl::StrCat("{\"reason\": \"x\", ", members, "}")), "a");
      EXPECT_TRUE(absl::IsInvalidArgument(action.status())) << verb << " " << members << ": " << action.status();
    }
  }
}

TEST(ParseAction, CarriesTheRoundThatWasSeen) {
  const auto seen = ParseAction(Meant("/api/v1/jobs/j/restart", R"({"reason": "x", "round": 2})"), "a");
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_EQ(std::get<scheduler::SteerRequested>(EventOf(1, *seen)).seen_round, 2u);
  const auto any = ParseAction(Meant("/api/v1/jobs/j/restart", R"({"reason": "x"})"), "a");
  EXPECT_EQ(std::get<scheduler::SteerRequested>(EventOf(1, *any)).seen_round, std::nullopt);
}

TEST(ParseAction, AnswersInTheWordsOfTheCore) {
  const auto action = ParseAction(Meant("/api/v1/jobs/j/restart", R"({"reason": "x"})"), "a");
  v1::SteerReply reply;
  reply.set_text("soon");
  EXPECT_NE(AnswerOf(*action, {1, absl::OkStatus(), reply})->body.find("soon"), std::string::npos);
  EXPECT_EQ(AnswerOf(*action, {1, absl::FailedPreconditionError("over"), {}})->status, 409);
  EXPECT_EQ(AnswerOf(*action, {1, absl::NotFoundError("none"), {}})->status, 404);
}

TEST(Login, KnowsViewers) {
  const Tokens tokens = *Tokens::Of(*Token::Of(std::string(40, 't')), *Token::Of(std::string(40, 'v')));
  CountedLog counted(Clock::System());
  Login login;
  const auto role = [&](char letter) {
    const std::string body = absl::StrCat("{\"token\": \"", std::string(40, letter), "\"}");
    const ResponsePtr answer = login.Begin(Meant("/login", body), {"10.0.0.1", "p", false}, tokens, kNow, counted);
    Request look;
    look.host = "localhost:8120";
    look.cookie = answer->cookie.substr(0, answer->cookie.find(';'));
    return login.RoleOf(look, false, kNow);
  };
  EXPECT_EQ(role('t'), Role::kAct);
  EXPECT_EQ(role('v'), Role::kLook);
  EXPECT_EQ(role('w'), std::nullopt);
}

TEST(Login, TakesTheTokenAndCountsWhatIsWrong) {
  const std::string word(40, 't');
  const Tokens token = *Tokens::Of(*Token::Of(word), *Token::Of(std::string(40, 'v')));
  CountedLog counted(Clock::System());
  Login login;
  const Login::Client client{"10.0.0.1", "10.0.0.1", false};
  const std::string body = absl::StrCat("{\"token\": \"", word, "\"}");
  const ResponsePtr good = login.Begin(Meant("/login", body), client, token, kNow, counted);
  ASSERT_EQ(good->status, 200);
  Request look;
  look.host = "localhost:8120";
  look.cookie = good->cookie.substr(0, good->cookie.find(';'));
  EXPECT_EQ(login.RoleOf(look, false, kNow), Role::kAct);
  EXPECT_EQ(login.RoleOf(look, true, kNow), std::nullopt) << "another name with TLS";
  EXPECT_EQ(login.Begin(Meant("/login", body), client, Tokens(), kNow, counted)->status, 404);
  Request foreign = Meant("/login", body);
  foreign.origin = "http://evil.example";
  EXPECT_EQ(login.Begin(foreign, client, token, kNow, counted)->status, 403);
  for (int i = 0; i < LoginLimit::kOfOne; ++i) {
    EXPECT_EQ(login.Begin(Meant("/login", R"({"token": "wrong"})"), client, token, kNow, counted)->status, 401);
  }
  EXPECT_EQ(login.Begin(Meant("/login", R"({"token": "wrong"})"), client, token, kNow, counted)->status, 429);
  EXPECT_EQ(login.Begin(Meant("/login", body), client, token, kNow, counted)->status, 200) << "others lock no user out";
  const auto counts = counted.Counts();
  EXPECT_EQ(counts.at("http: wrong token"), LoginLimit::kOfOne);
  EXPECT_EQ(counts.at("http: too many logins"), 1);
  EXPECT_EQ(counts.at("http: other site"), 1);
  Request out = Meant("/logout", "{}");
  out.cookie = look.cookie;
  EXPECT_EQ(login.End(out, client, counted)->status, 200);
  EXPECT_EQ(login.RoleOf(look, false, kNow), std::nullopt);
}

}  // namespace
}  // namespace muster::http
