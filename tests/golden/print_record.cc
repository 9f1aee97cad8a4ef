#include "tests/golden/print_record.h"

#include <google/protobuf/text_format.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/net/ip_address.h"
#include "common/net/peer_node.h"

namespace muster::golden {
namespace {

std::string PrintCause(const v1::Cause& cause) {
  return absl::StrCat(v1::Cause::Kind_Name(cause.kind()), " \"", cause.text(), "\"",
                      cause.reason().empty() ? "" : absl::StrCat(" reason ", cause.reason()),
                      cause.remedy().empty() ? "" : absl::StrCat(" remedy \"", cause.remedy(), "\""));
}

std::string PrintSettings(const v1::JobSettings& settings) { return absl::StrCat("{", PrintFields(settings), "}"); }

std::string PrintJoined(const v1::NodeJoined& record) {
  return absl::StrCat("node_joined ", record.job_id(), "/", record.run(), " ", record.node_id(), " inc ",
                      record.incarnation(), " at ", record.info().address(), record.is_assigned_id() ? " assigned" : "",
                      record.is_spare() ? " spare" : "", record.info().is_fence_guarded() ? "" : " unguarded",
                      record.takes_over() ? " takes over" : "", " settings ", PrintSettings(record.settings()));
}

std::string PrintRemoved(const v1::NodeRemoved& record) {
  return absl::StrCat("node_removed ", record.job_id(), "/", record.run(), " ", record.node_id(), " ",
                      v1::NodeRemoved::Why_Name(record.why()), record.is_confirmed() ? " confirmed" : "", " settings ",
                      PrintSettings(record.settings()));
}

// "a[0,1]@0 b[2,3]@1; servers c[0]@0": nodes with their ranks and the number of their machine.
std::string PrintRound(const v1::RoundClosed& record) {
  v1::PeerList peers;
  peers.ParseFromString(record.peer_list());
  std::string text = absl::StrCat("round_closed ", record.job_id(), "/", record.run(), " round ", record.round(), ":");
  for (const v1::PeerNode& node : peers.nodes()) {
    std::vector<std::string> ranks;
    for (int slot = 0; slot < SlotCount(node); ++slot) {
      const uint32_t rank = RankOf(node, slot), local = LocalRankOf(node, slot);
      ranks.push_back(rank == local ? absl::StrCat(rank) : absl::StrCat(rank, "/", local));
    }
    absl::StrAppend(&text, " ", node.role() == v1::ROLE_SERVER ? "server " : "", node.node_id(), "[",
                    absl::StrJoin(ranks, ","), "]@", node.machine());
  }
  for (const v1::Replacement& r : record.replacements()) absl::StrAppend(&text, " ", r.spare(), " for ", r.lost());
  if (record.promoted_spares_size() > 0) {
    absl::StrAppend(&text, " promoted ", absl::StrJoin(record.promoted_spares(), ","));
  }
  return absl::StrCat(text, " master ", JoinHostPort(record.master_address(), record.master_port()));
}

std::string PrintEvent(const v1::NodeEvent& event) {
  if (event.has_started()) {
    return absl::StrCat(event.number(), " started slot ", event.started().slot(), " pid ", event.started().pid());
  }
  if (event.has_ended()) {
    return absl::StrCat(event.number(), " ended slot ", event.ended().slot(),
                        event.ended().signal() != 0 ? absl::StrCat(" signal ", event.ended().signal())
                                                    : absl::StrCat(" exit ", event.ended().exit_code()),
                        event.ended().was_stopped() ? " stopped" : "",
                        event.ended().has_remains() ? " with remains" : "");
  }
  if (event.has_quit()) return absl::StrCat(event.number(), " quit round ", event.quit().round());
  if (event.has_checked()) return absl::StrCat(event.number(), " checked after round ", event.checked().round());
  if (!event.has_leaving()) return absl::StrCat(event.number(), " nothing");
  return absl::StrCat(event.number(), event.leaving().is_quiet() ? " leaving" : " leaving soon");
}

std::string PrintReported(const v1::NodeReported& record) {
  std::vector<std::string> events;
  for (const v1::NodeEvent& event : record.events()) events.push_back(PrintEvent(event));
  if (record.has_armed_fence_ms()) events.push_back(absl::StrCat("armed ", record.armed_fence_ms(), " ms"));
  return absl::StrCat("node_reported ", record.job_id(), "/", record.run(), " ", record.node_id(), ": ",
                      absl::StrJoin(events, ", "));
}

std::string PrintStoreChanged(const v1::StoreChanged& record) {
  return absl::StrCat("store_changed ", record.job_id(), "/", record.run(), " round ", record.round(), " by ",
                      record.node_id(), record.number() == 0 ? "" : absl::StrCat(" #", record.number()), ": ",
                      record.key(), record.has_value() ? absl::StrCat(" = \"", record.value(), "\"") : " deleted",
                      record.lifetime() == v1::LIFETIME_RUN ? " for the run" : "");
}

}  // namespace

// ShortDebugString would not do: newer versions of protobuf make its blanks random.
std::string PrintFields(const google::protobuf::Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  printer.PrintToString(message, &text);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::string PrintPhase(v1::RunPhase phase) {
  constexpr size_t kPrefix = sizeof("RUN_PHASE_") - 1;
  return v1::RunPhase_Name(phase).substr(kPrefix);
}

std::string PrintOutcome(const v1::Outcome& outcome) {
  return outcome.succeeded() ? "succeeded" : absl::StrCat("failed ", PrintCause(outcome.cause()));
}

std::string PrintRecord(const v1::Record& record) {
  switch (record.kind_case()) {
    case v1::Record::kClusterFounded:
      return absl::StrCat("cluster_founded ", record.cluster_founded().cluster_id());
    case v1::Record::kTermBegun:
      return absl::StrCat("term_begun ", record.term_begun().term());
    case v1::Record::kRunOpened:
      return absl::StrCat("run_opened ", record.run_opened().job_id(), "/", record.run_opened().run(), " settings ",
                          PrintSettings(record.run_opened().settings()));
    case v1::Record::kNodeJoined:
      return PrintJoined(record.node_joined());
    case v1::Record::kNodeRemoved:
      return PrintRemoved(record.node_removed());
    case v1::Record::kRoundClosed:
      return PrintRound(record.round_closed());
    case v1::Record::kNodeReported:
      return PrintReported(record.node_reported());
    case v1::Record::kRunFailing:
      return absl::StrCat("run_failing ", record.run_failing().job_id(), "/", record.run_failing().run(), " ",
                          PrintCause(record.run_failing().first()));
    case v1::Record::kRunEnded:
      return absl::StrCat("run_ended ", record.run_ended().job_id(), "/", record.run_ended().run(), " ",
                          PrintOutcome(record.run_ended().outcome()));
    case v1::Record::kRunForgotten:
      return absl::StrCat("run_forgotten ", record.run_forgotten().job_id(), "/", record.run_forgotten().run());
    case v1::Record::kNodeLost: {
      const v1::NodeLost& lost = record.node_lost();
      return absl::StrCat("node_lost ", lost.job_id(), "/", lost.run(), " ", lost.node_id(), " ",
                          v1::NodeRemoved::Why_Name(lost.why()), lost.is_confirmed() ? " confirmed" : "");
    }
    case v1::Record::kNodeDraining:
      return absl::StrCat("node_draining ", record.node_draining().job_id(), "/", record.node_draining().run(), " ",
                          record.node_draining().node_id(), record.node_draining().is_draining() ? "" : " not");
    case v1::Record::kNodeRecertified:
      return absl::StrCat("node_recertified ", record.node_recertified().job_id(), "/", record.node_recertified().run(),
                          " ", record.node_recertified().node_id(), " ",
                          record.node_recertified().certificate_fingerprint());
    case v1::Record::kNodeReturned:
      return absl::StrCat("node_returned ", record.node_returned().job_id(), "/", record.node_returned().run(), " ",
                          record.node_returned().node_id());
    case v1::Record::kIncarnationGone:
      return absl::StrCat("incarnation_gone ", record.incarnation_gone().job_id(), "/", record.incarnation_gone().run(),
                          " ", record.incarnation_gone().node_id(), " inc ", record.incarnation_gone().incarnation());
    case v1::Record::kRoundAborted:
      return absl::StrCat("round_aborted ", record.round_aborted().job_id(), "/", record.round_aborted().run(),
                          " round ", record.round_aborted().round(), " ", PrintCause(record.round_aborted().first()));
    case v1::Record::kSlotRestarted:
      return absl::StrCat("slot_restarted ", record.slot_restarted().job_id(), "/", record.slot_restarted().run(), " ",
                          record.slot_restarted().node_id(), " slot ", record.slot_restarted().slot(), " attempt ",
                          record.slot_restarted().attempt());
    case v1::Record::kStoreChanged:
      return PrintStoreChanged(record.store_changed());
    case v1::Record::kQuorumChanged:
      return absl::StrCat("quorum_changed ", record.quorum_changed().lighthouse(), " ",
                          record.quorum_changed().quorum_id(), ": ",
                          absl::StrJoin(record.quorum_changed().replica_ids(), " "));
    case v1::Record::kSnapshot:
      return "snapshot";
    case v1::Record::KIND_NOT_SET:
      break;
  }
  return "nothing";
}

}  // namespace muster::golden
