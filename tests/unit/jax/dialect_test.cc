// Requests as jaxlib encodes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker_agent/gateway/jax/request.h"

namespace muster::jax {
namespace {

using ::testing::ElementsAre;
using namespace std::string_literals;

TEST(JaxDialect, MethodsAreKnownByTheirPath) {
  EXPECT_EQ(CallOf("/tensorflow.CoordinationService/RegisterTask")->dialect, Dialect::kOld);
  EXPECT_EQ(CallOf("/xla.coordination.CoordinationService/Barrier")->method, Method::kBarrier);
  EXPECT_FALSE(CallOf("/xla.coordination.CoordinationService/ResetTask")) << "0.10 has none";
  EXPECT_FALSE(CallOf("/tensorflow.CoordinationService/Nothing"));
  EXPECT_FALSE(CallOf("/other.Service/Barrier"));
  EXPECT_FALSE(CallOf(""));
}

TEST(JaxDialect, NewRegisterTask) {
  // {3: fixed64 0x0807060504030201, 5: 2}
  const auto request = ReadRequest({Dialect::kNew, Method::kRegister}, "\x19\x01\x02\x03\x04\x05\x06\x07\x08\x28\x02"s);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->incarnation, 0x0807060504030201u);
  EXPECT_EQ(request->task, 2);
}

TEST(JaxDialect, OldRegisterTaskAndHeartbeatHaveTheirTaskInDifferentFields) {
  // {3: fixed64 1, 5: {1: "jax_worker", 2: 3}}
  const std::string task = "\x0a\x0ajax_worker\x10\x03"s;
  const auto registration = ReadRequest({Dialect::kOld, Method::kRegister}, "\x19\x01\0\0\0\0\0\0\0\x2a\x0e"s + task);
  ASSERT_TRUE(registration.ok());
  EXPECT_EQ(registration->task, 3);
  const auto beat = ReadRequest({Dialect::kOld, Method::kHeartbeat}, "\x19\x01\0\0\0\0\0\0\0\x22\x0e"s + task);
  ASSERT_TRUE(beat.ok());
  EXPECT_EQ(beat->task, 3);
}

TEST(JaxDialect, NewBarrier) {
  // {1: {3: fixed64 9}, 2: "b", 3: 5000, 4: [0, 2] packed, 5: 2, 6: 1}
  const auto request =
      ReadRequest({Dialect::kNew, Method::kBarrier},
                  "\x0a\x09\x19\x09\0\0\0\0\0\0\0\x12\x01"s + "b\x18\x88\x27\x22\x02\0\x02\x28\x02\x30\x01"s);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->service_incarnation, 9u);
  EXPECT_EQ(request->name, "b");
  EXPECT_EQ(request->timeout_ms, 5000);
  EXPECT_THAT(request->tasks, ElementsAre(0, 2));
  EXPECT_EQ(request->task, 2);
  EXPECT_EQ(request->counter, 1);
}

TEST(JaxDialect, OldInsertKeyValue) {
  // {1: {1: "k", 2: "v"}, 2: true}
  const auto request = ReadRequest({Dialect::kOld, Method::kInsert}, "\x0a\x06\x0a\x01k\x12\x01v\x10\x01"s);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->name, "k");
  EXPECT_EQ(request->value, "v");
  EXPECT_TRUE(request->may_overwrite);
  EXPECT_FALSE(request->task);
}

TEST(JaxDialect, RepliesAreWrittenInTheAskersDialect) {
  Reply reply;
  reply.tasks = {1};
  reply.incarnations = {1};
  EXPECT_EQ(WriteReply({Dialect::kNew, Method::kGetAlive}, reply), "\x0a\x01\x01\x12\x08\x01\0\0\0\0\0\0\0"s);
  EXPECT_EQ(WriteReply({Dialect::kOld, Method::kGetAlive}, reply),
            "\x0a\x0e\x0a\x0ajax_worker\x10\x01\x12\x08\x01\0\0\0\0\0\0\0"s);
  reply.values = {{"k", "v"}};
  EXPECT_EQ(WriteReply({Dialect::kNew, Method::kGet}, reply), "\x0a\x06\x0a\x01k\x12\x01v"s);
  EXPECT_EQ(WriteReply({Dialect::kNew, Method::kInsert}, reply), "");
}

TEST(JaxDialect, StatesOfTasks) {
  EXPECT_EQ(CallOf("/tensorflow.CoordinationService/GetTaskState")->method, Method::kGetStates);
  EXPECT_EQ(CallOf("/tensorflow.CoordinationService/GetJobState")->method, Method::kWatchStates);
  EXPECT_EQ(CallOf("/tensorflow.CoordinationService/WatchJobState")->method, Method::kWatchStates);
  EXPECT_EQ(CallOf("/xla.coordination.CoordinationService/WatchTasks")->method, Method::kWatchStates);
  EXPECT_FALSE(CallOf("/tensorflow.CoordinationService/WatchTasks")) << "0.9 has none";
  EXPECT_FALSE(CallOf("/xla.coordination.CoordinationService/WatchJobState")) << "0.10 has none";
  // {1: {1: "jax_worker", 2: 3}}
  const auto get = ReadRequest({Dialect::kOld, Method::kGetStates}, "\x0a\x0e\x0a\x0ajax_worker\x10\x03"s);
  EXPECT_THAT(get->tasks, ElementsAre(3));
  // {1: "jax_worker", 2: 5}
  EXPECT_EQ(ReadRequest({Dialect::kOld, Method::kWatchStates}, "\x0a\x0ajax_worker\x10\x05"s)->version, 5);
  // {1: {3: fixed64 9}, 2: -1}
  const std::string now = "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s;
  const auto watch = ReadRequest({Dialect::kNew, Method::kWatchStates}, "\x0a\x09\x19\x09\0\0\0\0\0\0\0"s + now);
  EXPECT_EQ(watch->service_incarnation, 9u);
  EXPECT_EQ(watch->version, -1);
  Reply reply;
  reply.tasks = {1};
  reply.incarnations = {1};
  reply.version = 7;
  // {1: [{1: 1, 2: 3 (connected), 6: fixed64 1}], 2: 7}
  EXPECT_EQ(WriteReply({Dialect::kNew, Method::kWatchStates}, reply),
            "\x0a\x0d\x08\x01\x10\x03\x31\x01\0\0\0\0\0\0\0\x10\x07"s);
  EXPECT_EQ(WriteReply({Dialect::kOld, Method::kGetStates}, reply),
            "\x0a\x1b\x0a\x0e\x0a\x0ajax_worker\x10\x01\x10\x03\x31\x01\0\0\0\0\0\0\0\x10\x07"s);
}

TEST(JaxDialect, WhatIsNoMessageIsRefused) {
  for (const Dialect dialect : {Dialect::kOld, Dialect::kNew}) {
    for (const Method method : {Method::kRegister, Method::kHeartbeat, Method::kBarrier, Method::kCancelBarrier,
                                Method::kGetAlive, Method::kInsert, Method::kGet, Method::kDelete, Method::kShutdown,
                                Method::kGetStates, Method::kWatchStates}) {
      EXPECT_FALSE(ReadRequest({dialect, method}, "\xff\xff\xff"s).ok());
      EXPECT_TRUE(ReadRequest({dialect, method}, "").ok());
    }
  }
}

}  // namespace
}  // namespace muster::jax
