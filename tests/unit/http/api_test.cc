#include "scheduler/http/api.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scheduler/core/views/job_map.h"

namespace muster::http {
namespace {

using nlohmann::json;

absl::StatusOr<ApiQuestion> Parse(const std::string& target, const ApiViewer& viewer = {}) {
  return ParseApi(*ParseTarget(target), viewer);
}

TEST(ParseApi, AsksWhatThePathSays) {
  const auto nodes = Parse("/api/v1/jobs/train/nodes?run=3&offset=10&limit=5");
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  const auto& request = std::get<v1::NodesRequest>(nodes->request);
  EXPECT_EQ(request.job_id(), "train");
  EXPECT_EQ(request.run(), 3);
  EXPECT_EQ(request.offset(), 10);
  EXPECT_EQ(request.limit(), 5);
  EXPECT_FALSE(request.with_hosts());
  EXPECT_EQ(std::get<v1::RanksRequest>(Parse("/api/v1/jobs/train/ranks")->request).limit(), kMaxInAPage);
  EXPECT_EQ(std::get<v1::StatusRequest>(Parse("/api/v1/jobs/train?run=2")->request).run(), 2);
  EXPECT_EQ(std::get<v1::StatusRequest>(Parse("/api/v1/jobs")->request).job_id(), "");
  EXPECT_EQ(std::get<v1::EventsRequest>(Parse("/api/v1/events?after=7")->request).after(), 7);
}

TEST(ParseApi, RefusesWhatItDoesNotKnow) {
  for (const char* missing : {"/api/v2/jobs", "/api/v1/", "/api/v1/job", "/api/v1/jobs/", "/api/v1/jobs/a/b",
                              "/api/v1/jobs/a/nodes/b", "/api/v1/events/1"}) {
    EXPECT_TRUE(absl::IsNotFound(Parse(missing).status())) << missing << Parse(missing).status();
  }
  for (const char* wrong :
       {"/api/v1/jobs?x=1", "/api/v1/jobs/a/nodes?limit=0", "/api/v1/jobs/a/nodes?limit=501", "/api/v1/events?after=-1",
        "/api/v1/events?after=99999999999999999999", "/api/v1/jobs/a?run=x", "/api/v1/jobs/a%20b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Parse(wrong).status())) << wrong << Parse(wrong).status();
  }
}

TEST(ParseApi, MakesNothingOfNamesThatAreNoUtf8) {
  testing::internal::CaptureStderr();
  for (const char* target : {"/api/v1/jobs/%ff", "/api/v1/jobs/%c3/ranks?run=1", "/api/v1/events?job=%ff"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseApi(*ParseTarget(target), {}).status())) << target;
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "protobuf would log each of them";
}

TEST(ParseApi, ShowsAViewerOfOneJobThatJob) {
  const ApiViewer viewer{"mine"};
  EXPECT_EQ(std::get<v1::StatusRequest>(Parse("/api/v1/jobs", viewer)->request).job_id(), "mine");
  EXPECT_EQ(std::get<v1::EventsRequest>(Parse("/api/v1/events", viewer)->request).job_id(), "mine");
  EXPECT_TRUE(Parse("/api/v1/jobs/mine/nodes", viewer).ok());
  for (const char* other : {"/api/v1/jobs/other", "/api/v1/jobs/other/ranks", "/api/v1/events?job=other"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(Parse(other, viewer).status())) << other;
  }
}

// If a job does not exist, its own page is an error, but the list of jobs is only empty. So the two can't share an
// answer.
TEST(ParseApi, TheListOfOneJobIsNotThatJobsPage) {
  const ApiViewer viewer{"a"};
  EXPECT_NE(Parse("/api/v1/jobs", viewer)->key, Parse("/api/v1/jobs/a", viewer)->key);
}

TEST(ParseApi, SaysWhyInTheWordsOfMsCtl) {
  v1::StatusReply reply;
  v1::RunStatus& run = *reply.add_runs();
  run.set_job_id("a");
  run.set_phase(v1::RUN_PHASE_RECOVERING);
  run.mutable_waiting()->set_text("waiting for node b");
  run.mutable_last_abort()->add_last_lines("its last line");
  const auto why = Parse("/api/v1/jobs/a/why");
  const std::string text =
      json::parse(why->render(scheduler::Answer{1, absl::OkStatus(), reply})->body)["runs"][0]["text"];
  EXPECT_NE(text.find("waiting     waiting for node b"), std::string::npos) << text;
  EXPECT_NE(text.find("| its last line"), std::string::npos) << text;
  EXPECT_NE(Parse("/api/v1/jobs/a/why")->key, Parse("/api/v1/jobs/a")->key);
}

TEST(ParseApi, DrawsAMap) {
  scheduler::JobMap map{.job_id = "a", .run = 1, .round = 2, .names_version = 7, .nodes = "cl", .slots = "rf-"};
  map.names.push_back({"n\"1", "host", "rack=1", false, 2, {{0, 2}}});
  const auto question = Parse("/api/v1/jobs/a/map?names=1");
  ASSERT_TRUE(question.ok()) << question.status();
  EXPECT_TRUE(std::get<scheduler::MapRequest>(question->request).with_names);
  const ResponsePtr response = question->render(
      scheduler::Answer{1, absl::OkStatus(), std::make_shared<const scheduler::JobMap>(std::move(map))});
  const json document = json::parse(response->body);
  EXPECT_EQ(document["slots"], "rf-");
  EXPECT_EQ(document["names"][0]["node_id"], "n\"1");
  EXPECT_EQ(document["names"][0]["ranks"], json::parse("[0, 2]"));
  EXPECT_NE(question->key, Parse("/api/v1/jobs/a/map")->key);
  EXPECT_NE(question->key, Parse("/api/v1/jobs/b/map?names=1")->key);
  EXPECT_FALSE(Parse("/api/v1/jobs/a/map?names=2").ok());
  EXPECT_FALSE(Parse("/api/v1/jobs/a%20b/map").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Parse("/api/v1/jobs/other/map", {"mine"}).status()));
}

TEST(ParseApi, ErrorsAreJson) {
  const ResponsePtr missing =
      Parse("/api/v1/jobs/a")->render(scheduler::Answer{1, absl::OkStatus(), v1::StatusReply()});
  EXPECT_EQ(missing->status, 404);
  const ResponsePtr busy = Parse("/api/v1/jobs")->render(scheduler::Answer{1, absl::UnavailableError("x\n\xff"), {}});
  EXPECT_EQ(busy->status, 503);
  EXPECT_TRUE(json::parse(busy->body).contains("error"));
}

TEST(ParseApi, ChangesAreServerSentEvents) {
  const auto changes = Parse("/api/v1/changes?after=4");
  ASSERT_TRUE(changes.ok()) << changes.status();
  EXPECT_NE(changes->key, Parse("/api/v1/events?after=4")->key);
  v1::EventsReply reply;
  for (const uint64_t number : {5, 9}) {
    v1::JobEvent& event = *reply.add_events();
    event.set_number(number);
    event.set_text("two\nlines");
  }
  const ResponsePtr response = changes->render(scheduler::Answer{1, absl::OkStatus(), reply});
  EXPECT_EQ(response->content_type, kEventStream);
  EXPECT_EQ(response->cursor, 9);
  EXPECT_EQ(response->body.substr(0, 22), "id: 5\ndata: {\"event\":{");
  EXPECT_EQ(std::count(response->body.begin(), response->body.end(), '\n'), 6) << response->body;
  EXPECT_EQ(changes->render(scheduler::Answer{1, absl::OkStatus(), v1::EventsReply()})->body, "");
  EXPECT_FALSE(Parse("/api/v1/changes?limit=4").ok());
}

}  // namespace
}  // namespace muster::http
