#include "scheduler/rpc/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "common/base/limits.h"

namespace muster::scheduler {
namespace {

using ::testing::HasSubstr;

v1::Join GoodJoin() {
  v1::Join join;
  join.set_protocol_version(kProtocolVersion);
  join.set_job_id("default");
  join.set_node_id("node-1.example:8@x_y");
  join.set_incarnation(7);
  join.set_connect_seq(1);
  v1::NodeInfo& node = *join.mutable_node();
  node.set_role(v1::ROLE_WORKER);
  node.set_host_name("host");
  node.set_machine_id("boot/net");
  node.set_address("10.0.0.1");
  node.add_slots()->set_ring_port(65535);
  return join;
}

struct BadJoin {
  std::string name;
  std::function<void(v1::Join&)> spoil;
  std::string says;
};

class JoinValidation : public ::testing::TestWithParam<BadJoin> {};

TEST_P(JoinValidation, IsRefusedInWords) {
  v1::Join join = GoodJoin();
  GetParam().spoil(join);
  const absl::Status status = CheckJoin(join);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().says));
}

std::string Long(size_t bytes) { return std::string(bytes, 'x'); }

INSTANTIATE_TEST_SUITE_P(
    All, JoinValidation,
    ::testing::Values(
        BadJoin{"OldProtocol", [](auto& j) { j.set_protocol_version(0); }, "install the same release"},
        BadJoin{"NoJob", [](auto& j) { j.clear_job_id(); }, "job_id is empty"},
        BadJoin{"LongJob", [](auto& j) { j.set_job_id(Long(129)); }, "129 bytes; at most 128"},
        BadJoin{"JobWithSlash", [](auto& j) { j.set_job_id("../etc"); }, "\"../etc\" has other characters"},
        BadJoin{"JobIsAFolder", [](auto& j) { j.set_job_id("."); }, "job_id \".\" names a folder"},
        BadJoin{"JobIsTheFolderAbove", [](auto& j) { j.set_job_id(".."); }, "job_id \"..\" names a folder"},
        BadJoin{"NodeIsTheFolderAbove", [](auto& j) { j.set_node_id(".."); }, "node_id \"..\" names a folder"},
        BadJoin{"NodeIdWithLineBreak", [](auto& j) { j.set_node_id("a\nb"); }, "other characters"},
        BadJoin{"NodeIdNotAscii", [](auto& j) { j.set_node_id("knöten"); }, "other characters"},
        BadJoin{"NoIncarnation", [](auto& j) { j.set_incarnation(0); }, "incarnation is 0"},
        BadJoin{"NoConnectSeq", [](auto& j) { j.set_connect_seq(0); }, "connect_seq is 0"},
        BadJoin{"BadCluster", [](auto& j) { j.set_cluster_id("a b"); }, "cluster_id"},
        BadJoin{"NoRole", [](auto& j) { j.mutable_node()->clear_role(); }, "expected worker or server"},
        BadJoin{"UnknownRole", [](auto& j) { j.mutable_node()->set_role(static_cast<v1::Role>(9)); }, "role is 9"},
        BadJoin{"LongHost", [](auto& j) { j.mutable_node()->set_host_name(Long(254)); }, "host_name has 254 bytes"},
        BadJoin{"HostWithEscape", [](auto& j) { j.mutable_node()->set_host_name("a\x1b[2J"); }, "control characters"},
        BadJoin{"NoMachine", [](auto& j) { j.mutable_node()->clear_machine_id(); }, "machine_id is empty"},
        BadJoin{"NamedAddress", [](auto& j) { j.mutable_node()->set_address("host1"); }, "not a numeric"},
        BadJoin{"NoSlots", [](auto& j) { j.mutable_node()->clear_slots(); }, "is 0; expected 1 to 1024"},
        BadJoin{"ManySlots",
                [](auto& j) {
                  for (int i = 0; i < 1024; ++i) j.mutable_node()->add_slots();
                },
                "is 1025; expected 1 to 1024"},
        BadJoin{"RingPort", [](auto& j) { j.mutable_node()->mutable_slots(0)->set_ring_port(65536); },
                "ring_port is 65536"},
        BadJoin{"MasterPort", [](auto& j) { j.mutable_node()->set_master_port(70000); }, "master_port is 70000"},
        BadJoin{"LongDevice", [](auto& j) { j.mutable_node()->mutable_slots(0)->set_device_id(Long(129)); },
                "device_id has 129"},
        BadJoin{"LongLabel", [](auto& j) { j.mutable_node()->set_label_path(Long(513)); }, "label_path has 513"},
        BadJoin{"MasterName", [](auto& j) { j.mutable_node()->set_wanted_master_address("master"); }, "not a numeric"},
        BadJoin{"LinkLocalMaster", [](auto& j) { j.mutable_node()->set_wanted_master_address("fe80::1"); },
                "link-local"},
        BadJoin{"LinkLocalAddress", [](auto& j) { j.mutable_node()->set_address("fe80::1%eth0"); }, "link-local"},
        BadJoin{"HugeWorkerNum", [](auto& j) { j.mutable_settings()->set_worker_num(1'000'001); }, "worker_num"},
        BadJoin{"Scope", [](auto& j) { j.mutable_settings()->set_restart_scope("node"); }, "neither job nor worker"},
        BadJoin{"EndlessTopoTimeout", [](auto& j) { j.mutable_settings()->set_topo_timeout_ms(INT64_MAX); },
                "topo_timeout_ms is 9223372036854775807"},
        BadJoin{"ManyRestarts", [](auto& j) { j.mutable_settings()->set_max_restarts(UINT32_MAX); },
                "max_restarts is 4294967295"},
        BadJoin{"Preflight", [](auto& j) { j.mutable_settings()->set_preflight(Long(129)); }, "preflight has 129"},
        BadJoin{"ManyHostFacts",
                [](auto& j) {
                  for (int i = 0; i < 33; ++i) j.mutable_node()->add_host_facts();
                },
                "host_facts is 33"},
        BadJoin{"LongHostFact", [](auto& j) { j.mutable_node()->add_host_facts()->set_value(Long(1025)); },
                "a host fact has 1025"},
        BadJoin{"HostFactName", [](auto& j) { j.mutable_node()->add_host_facts()->set_name("a\nb"); },
                "control characters"},
        BadJoin{"ManyHostFindings",
                [](auto& j) {
                  for (int i = 0; i < 33; ++i) j.mutable_node()->add_host_findings();
                },
                "host_findings is 33"},
        BadJoin{"LongHostFinding", [](auto& j) { j.mutable_node()->add_host_findings()->set_remedy(Long(513)); },
                "the remedy of a host finding has 513"},
        BadJoin{"HeavyHost",
                [](auto& j) {
                  for (int i = 0; i < 32; ++i) j.mutable_node()->add_host_facts()->set_value(Long(1000));
                },
                "the bytes of node.host_facts"},
        BadJoin{"ManyTableRanks",
                [](auto& j) {
                  for (int i = 0; i < 1025; ++i) j.mutable_node()->add_table_ranks(0);
                },
                "table_ranks is 1025"}),
    [](const auto& tested) { return tested.param.name; });

TEST(Validation, AGoodJoinPasses) {
  EXPECT_TRUE(CheckJoin(GoodJoin()).ok()) << CheckJoin(GoodJoin());
  v1::Join join = GoodJoin();
  join.clear_node_id();  // the scheduler assigns an id
  join.mutable_node()->clear_address();
  join.mutable_settings()->set_worker_num(kMaxWorkers);
  join.mutable_settings()->set_topo_timeout_ms(-1);
  EXPECT_TRUE(CheckJoin(join).ok()) << CheckJoin(join);
}

v1::Report ReportOf(std::vector<v1::NodeEvent> events) {
  v1::Report report;
  for (v1::NodeEvent& event : events) *report.add_events() = std::move(event);
  return report;
}

v1::NodeEvent Started(uint64_t number) {
  v1::NodeEvent event;
  event.set_number(number);
  event.mutable_started()->set_slot(0);
  return event;
}

v1::NodeEvent Ended(std::function<void(v1::ProcessEnded&)> change) {
  v1::NodeEvent event;
  event.set_number(1);
  change(*event.mutable_ended());
  return event;
}

void ExpectRefused(const v1::Report& report, const std::string& says) {
  const absl::Status status = CheckReport(report);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(says));
}

TEST(Validation, ReportsWithinTheLimitsPass) {
  EXPECT_TRUE(CheckReport(v1::Report()).ok()) << "a heartbeat without news";
  EXPECT_TRUE(CheckReport(ReportOf({Started(1), Started(2), Started(9)})).ok());
  EXPECT_TRUE(CheckReport(ReportOf({Ended([](auto& e) {
                e.set_signal(9);
                e.set_error_message("Traceback:\n\tline\x1b[0m");
                for (int i = 0; i < 20; ++i) e.add_last_lines(Long(512));
                e.set_launch_reason("disk_full");
                e.set_launch_remedy(Long(512));
                e.mutable_exception()->set_type(Long(512));
                e.mutable_exception()->set_message("a\n" + Long(2046));
                e.mutable_exception()->set_file(Long(512));
              })}))
                  .ok());
}

TEST(Validation, ReportsBeyondTheLimitsAreRefusedInWords) {
  std::vector<v1::NodeEvent> many;
  for (uint64_t i = 1; i <= 65; ++i) many.push_back(Started(i));
  ExpectRefused(ReportOf(many), "is 65; expected 0 to 64");
  ExpectRefused(ReportOf({Started(0)}), "numbers rise, from 1");
  ExpectRefused(ReportOf({Started(2), Started(2)}), "number 2 follows number 2");
  v1::NodeEvent unknown;  // a newer agent's
  unknown.set_number(1);
  EXPECT_TRUE(CheckReport(ReportOf({unknown})).ok());
  v1::NodeEvent future = Started(1);
  future.set_age_ms(-1);
  ExpectRefused(ReportOf({future}), "the age of event 1 is -1");
  future.set_age_ms(INT64_MAX);  // before the machine and all clocks were started
  ExpectRefused(ReportOf({future}), "the age of event 1 is 9223372036854775807");
  ExpectRefused(ReportOf({Ended([](auto& e) {
                  e.set_exit_code(1);
                  e.set_signal(9);
                })}),
                "both with an exit code and by a signal");
  ExpectRefused(ReportOf({Ended([](auto& e) { e.set_slot(1024); })}), "slot is 1024");
  ExpectRefused(ReportOf({Ended([](auto& e) { e.set_exit_code(256); })}), "exit_code is 256");
  ExpectRefused(ReportOf({Ended([](auto& e) { e.set_signal(65); })}), "signal is 65");
  ExpectRefused(ReportOf({Ended([](auto& e) { e.set_error_message(Long(4097)); })}), "error_message has 4097");
  ExpectRefused(ReportOf({Ended([](auto& e) { e.add_last_lines(Long(513)); })}), "a last line has 513");
  ExpectRefused(ReportOf({Ended([](auto& e) { e.set_log_file(Long(4097)); })}), "log_file has 4097");
  ExpectRefused(ReportOf({Ended([](auto& e) { e.mutable_exception()->set_type(Long(513)); })}),
                "exception.type has 513");
  ExpectRefused(ReportOf({Ended([](auto& e) { e.mutable_exception()->set_message(Long(2049)); })}),
                "exception.message has 2049");
  ExpectRefused(ReportOf({Ended([](auto& e) { e.mutable_exception()->set_file(Long(513)); })}),
                "exception.file has 513");
  ExpectRefused(ReportOf({Ended([](auto& e) { e.set_log_file("/logs/a\nb"); })}), "control characters");
  ExpectRefused(ReportOf({Ended([](auto& e) { e.mutable_exception()->set_file("a\nb"); })}), "control characters");
  ExpectRefused(ReportOf({Ended([](auto& e) { e.set_launch_reason("Disk full"); })}), "launch_reason must be a word");
  ExpectRefused(ReportOf({Ended([](auto& e) { e.set_launch_remedy(Long(513)); })}), "launch_remedy has 513");
  ExpectRefused(ReportOf({Ended([](auto& e) { e.set_launch_remedy("a\nb"); })}), "control characters");
  ExpectRefused(ReportOf({Ended([](auto& e) {
                  for (int i = 0; i < 21; ++i) e.add_last_lines("x");
                })}),
                "last_lines is 21");
}

TEST(Validation, WhatIsStuckIsBounded) {
  v1::Report report;
  v1::StuckProcess& stuck = *report.add_stuck();
  stuck.set_name("python3");
  stuck.set_state("D");
  stuck.set_stuck_ms(5000);
  EXPECT_TRUE(CheckReport(report).ok());
  stuck.set_slot(1024);
  ExpectRefused(report, "slot is 1024");
  stuck.set_slot(0);
  stuck.set_name(Long(65));
  ExpectRefused(report, "name has 65");
  stuck.set_name("a\tb");
  ExpectRefused(report, "control characters");
  stuck.set_name("a");
  stuck.set_state("DDDDD");
  ExpectRefused(report, "state has 5");
  stuck.set_state("D");
  for (int i = 1; i < 9; ++i) *report.add_stuck() = report.stuck(0);
  ExpectRefused(report, "the number of stuck processes is 9");
}

TEST(Validation, ProgressIsBounded) {
  v1::Report report;
  v1::SlotProgress& progress = *report.add_progress();
  progress.set_step(~uint64_t{0});
  EXPECT_TRUE(CheckReport(report).ok());
  progress.set_slot(1024);
  ExpectRefused(report, "slot is 1024");
  progress.set_slot(0);
  progress.set_since_progress_ms(~uint64_t{0});
  ExpectRefused(report, "since_progress_ms");
  progress.set_since_progress_ms(0);
  for (int i = 0; i < 1024; ++i) report.add_progress();
  ExpectRefused(report, "progress entries is 1025");
}

TEST(Validation, LogLinesAreBounded) {
  v1::LogLines lines;
  lines.mutable_log()->set_text(Long(64 * 1024));
  EXPECT_TRUE(CheckLogLines(lines).ok());
  lines.mutable_log()->set_text(Long(64 * 1024 + 1));
  EXPECT_FALSE(CheckLogLines(lines).ok());
  v1::LogsRequest request;
  EXPECT_FALSE(CheckRequest(request).ok()) << "it names no job";
  request.set_job_id("default");
  request.set_lines(1000);
  EXPECT_TRUE(CheckRequest(request).ok());
  request.set_lines(1001);
  EXPECT_FALSE(CheckRequest(request).ok());
}

TEST(Validation, StacksAreBounded) {
  v1::StackTraces traces;
  v1::SlotStack& stack = *traces.add_stacks();
  stack.set_method("py-spy");
  stack.set_text(Long(32 * 1024));
  EXPECT_TRUE(CheckStackTraces(traces).ok());
  stack.set_text(Long(32 * 1024 + 1));
  EXPECT_THAT(std::string(CheckStackTraces(traces).message()), HasSubstr("text has 32769"));
  stack.set_text("");
  stack.set_method("a\nb");
  EXPECT_FALSE(CheckStackTraces(traces).ok());
  v1::StacksRequest request;
  request.set_job_id("default");
  for (uint32_t rank = 0; rank < 64; ++rank) request.add_ranks(rank);
  EXPECT_TRUE(CheckRequest(request).ok());
  request.add_ranks(64);
  EXPECT_THAT(std::string(CheckRequest(request).message()), HasSubstr("ranks is 65; expected 0 to 64"));
}

TEST(Validation, SteeringNamesANode) {
  v1::SteerRequest request;
  request.set_job_id("default");
  EXPECT_FALSE(CheckRequest(request).ok()) << "without an action";
  request.set_action(static_cast<v1::SteerRequest::Action>(99));
  EXPECT_THAT(std::string(CheckRequest(request).message()), HasSubstr("action 99 is not known"));
  request.set_action(v1::SteerRequest::RESTART);
  EXPECT_TRUE(CheckRequest(request).ok());
  for (const auto action : {v1::SteerRequest::FENCE, v1::SteerRequest::DRAIN, v1::SteerRequest::UNDRAIN}) {
    request.set_action(action);
    request.clear_node_id();
    EXPECT_FALSE(CheckRequest(request).ok());
    request.set_node_id("n1");
    EXPECT_TRUE(CheckRequest(request).ok());
  }
}

TEST(Validation, LastReportsNameANode) {
  v1::LastReportRequest last_report;
  last_report.set_job_id("default");
  last_report.set_node_id("n1");
  last_report.set_incarnation(1);
  EXPECT_TRUE(CheckLastReport(last_report).ok());
  last_report.set_incarnation(0);
  EXPECT_FALSE(CheckLastReport(last_report).ok());
  last_report.set_incarnation(1);
  last_report.set_node_id("");
  EXPECT_FALSE(CheckLastReport(last_report).ok());
}

TEST(Validation, AdminRequestsAreBounded) {
  v1::NodesRequest nodes;
  EXPECT_TRUE(CheckRequest(nodes).ok());
  nodes.set_limit(1'001);
  EXPECT_FALSE(CheckRequest(nodes).ok());
  v1::RanksRequest ranks;
  ranks.set_limit(10'000);
  EXPECT_TRUE(CheckRequest(ranks).ok());
  v1::EventsRequest events;
  events.set_job_id("a b");
  EXPECT_FALSE(CheckRequest(events).ok());
  v1::StopRequest stop;
  EXPECT_FALSE(CheckRequest(stop).ok()) << "stopping wants a job";
  stop.set_job_id("default");
  stop.set_reason("enough\nERROR forged");
  EXPECT_FALSE(CheckRequest(stop).ok());
  stop.set_reason("enough");
  EXPECT_TRUE(CheckRequest(stop).ok());
}

TEST(Validation, ReportsOfReplicasAreBounded) {
  v1::ReplicasReport good;
  v1::StoreCaller& caller = *good.mutable_caller();
  caller.set_job_id("train-0");
  caller.set_node_id("a");
  caller.set_run(1);
  caller.set_round(1);
  caller.set_incarnation(1);
  good.set_lighthouse("train");
  good.mutable_rules()->set_min_replicas(1);
  good.mutable_rules()->set_heartbeat_timeout_ms(5000);
  good.add_replicas()->set_replica_id("r0:1234");
  EXPECT_TRUE(CheckStoreOperation(good).ok()) << CheckStoreOperation(good);
  const auto wrong = [&](const std::function<void(v1::ReplicasReport&)>& change) {
    v1::ReplicasReport report = good;
    change(report);
    return std::string(CheckStoreOperation(report).message());
  };
  using R = v1::ReplicasReport;
  EXPECT_THAT(wrong([](R& r) { r.mutable_caller()->set_round(0); }), HasSubstr("round"));
  EXPECT_THAT(wrong([](R& r) { r.set_lighthouse(""); }), HasSubstr("lighthouse is empty"));
  EXPECT_THAT(wrong([](R& r) { r.set_lighthouse("../x"); }), HasSubstr("lighthouse"));
  EXPECT_THAT(wrong([](R& r) { r.set_wait_ms(kMaxStoreWaitMs + 1); }), HasSubstr("wait_ms"));
  EXPECT_THAT(wrong([](R& r) { r.mutable_rules()->set_min_replicas(0); }), HasSubstr("min_replicas"));
  EXPECT_THAT(wrong([](R& r) { r.mutable_rules()->set_heartbeat_timeout_ms(0); }), HasSubstr("heartbeat_timeout_ms"));
  EXPECT_THAT(wrong([](R& r) { r.add_replicas(); }), HasSubstr("replica_id is empty"));
  EXPECT_THAT(wrong([](R& r) { r.add_replicas()->set_replica_id("a\nb"); }), HasSubstr("control characters"));
  EXPECT_THAT(wrong([](R& r) { r.mutable_replicas(0)->set_member(std::string(kMaxReplicaMemberBytes + 1, 'm')); }),
              HasSubstr("a member has"));
  EXPECT_THAT(wrong([](R& r) {
                for (int i = 0; i < kMaxReplicasOfAgent; ++i) r.add_replicas()->set_replica_id("r");
              }),
              HasSubstr("number of replicas"));
}

}  // namespace
}  // namespace muster::scheduler
