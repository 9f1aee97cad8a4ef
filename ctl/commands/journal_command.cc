// | command | prints                                                                                       |
// |---------|----------------------------------------------------------------------------------------------|
// | show    | a line for each record: sequence, wall time, kind, fields; --json: a JSON object on each line |
// | verify  | one line: the journal's number of records, and its jobs; --json: the same as one JSON object |
//
// Both make all checks that a scheduler makes at its start. That includes whether the records fit together: whether a
// scheduler can have written them in this order.
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/base/exit_codes.h"
#include "common/base/text.h"
#include "ctl/commands/handlers.h"
#include "scheduler/core/core.h"
#include "scheduler/core/state/state.h"
#include "scheduler/journal/journal_format.h"
#include "scheduler/journal/journal_reader.h"

namespace muster::ctl {
namespace {

constexpr int kMaxTextLength = 48;  // bytes of a text that `show` prints; --json prints it whole

int Fail(const std::string& text, int code) {
  std::fprintf(stderr, "ms-ctl: %s\n", EscapeControl(text).c_str());
  return code;
}

// Returns the record's kind, such as "node_joined". Sets `fields` to the message of this kind in the record.
std::string KindOf(const v1::Record& record, const google::protobuf::Message*& fields) {
  const auto* reflection = record.GetReflection();
  const auto* kind = reflection->GetOneofFieldDescriptor(record, record.GetDescriptor()->FindOneofByName("kind"));
  fields = &reflection->GetMessage(record, kind);
  return kind->name();
}

std::string TextOf(uint64_t sequence, const v1::Record& record) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.SetTruncateStringFieldLongerThan(kMaxTextLength);
  const google::protobuf::Message* fields = nullptr;
  const std::string kind = KindOf(record, fields);
  std::string text;
  if (record.has_snapshot()) {
    text = absl::StrCat("of ", record.snapshot().jobs_size(), " jobs, ", record.ByteSizeLong(), " bytes");
  } else {
    printer.PrintToString(*fields, &text);
  }
  const std::string when =
      record.unix_ms() == 0
          ? "-"
          : absl::FormatTime("%Y-%m-%d %H:%M:%E3S", absl::FromUnixMillis(record.unix_ms()), absl::LocalTimeZone());
  return absl::StrFormat("%8d  %-23s  %-16s  %s\n", sequence, when, kind, EscapeControl(text));
}

std::string JsonOf(uint64_t sequence, const v1::Record& record) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  const google::protobuf::Message* fields = nullptr;
  nlohmann::ordered_json line;
  line["sequence"] = sequence;
  line["unix_ms"] = record.unix_ms();
  line["kind"] = KindOf(record, fields);
  std::string text;
  const auto converted = google::protobuf::util::MessageToJsonString(*fields, &text, options);
  line["fields"] = converted.ok() ? nlohmann::ordered_json::parse(text) : nlohmann::ordered_json();
  if (record.least_reader() != 0) line["least_reader"] = record.least_reader();
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

struct Summary {
  uint64_t records = 0;
  uint64_t snapshot_through = 0;  // 0: none
  uint64_t last_sequence = 0;
  int64_t last_unix_ms = 0;
};

std::string JobsText(const v1::Snapshot& known) {
  std::vector<std::string> jobs;
  for (const v1::JobSnapshot& job : known.jobs()) {
    const v1::RunSnapshot& run = job.runs(job.runs_size() - 1);
    jobs.push_back(absl::StrCat(job.job_id(), " (run ", run.number(), " ",
                                scheduler::RunPhaseName(run.phase(), run.outcome()), ", round ", run.round(), ", ",
                                run.nodes_size(), run.nodes_size() == 1 ? " node)" : " nodes)"));
  }
  return jobs.empty() ? "no job" : absl::StrCat("jobs: ", absl::StrJoin(jobs, ", "));
}

std::string SoundText(const std::string& path, const scheduler::JournalReader& journal, const Summary& summary,
                      const v1::Snapshot& known, bool json) {
  if (!json) {
    const std::string snapshot =
        summary.snapshot_through == 0 ? "" : absl::StrCat("a snapshot through ", summary.snapshot_through, " and ");
    return absl::StrCat(path, " is sound: format ", scheduler::kJournalFormat, ", ", snapshot, summary.records,
                        " records, the last one ", summary.last_sequence, "; cluster ", known.cluster_id(), ", term ",
                        known.term(), "; ", JobsText(known), "\n");
  }
  nlohmann::ordered_json object;
  object["sound"] = true;
  object["format"] = scheduler::kJournalFormat;
  object["id"] = journal.id();
  object["records"] = summary.records;
  object["snapshot_through"] = summary.snapshot_through;
  object["last_sequence"] = summary.last_sequence;
  object["last_unix_ms"] = summary.last_unix_ms;
  object["cluster_id"] = known.cluster_id();
  object["term"] = known.term();
  object["jobs"] = nlohmann::ordered_json::array();
  for (const v1::JobSnapshot& job : known.jobs()) {
    const v1::RunSnapshot& run = job.runs(job.runs_size() - 1);
    object["jobs"].push_back({{"job_id", job.job_id()},
                              {"run", run.number()},
                              {"phase", scheduler::RunPhaseName(run.phase(), run.outcome())},
                              {"round", run.round()},
                              {"nodes", run.nodes_size()}});
  }
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int RunJournal(const std::vector<std::string>& words, bool json) {
  const bool shows = !words.empty() && words[0] == "show";
  if (words.size() != 2 || (!shows && words[0] != "verify")) {
    return Fail("journal: name a command and a file: ms-ctl journal show FILE, or ms-ctl journal verify FILE",
                kExitUsage);
  }
  const char* temporary = std::getenv("TMPDIR");
  const absl::StatusOr<scheduler::JournalReader> journal =
      scheduler::JournalReader::Open(words[1], temporary == nullptr || *temporary == '\0' ? "/tmp" : temporary);
  if (!journal.ok()) {
    return Fail(std::string(journal.status().message()),
                absl::IsNotFound(journal.status()) ? kExitUsage : kExitJobFailed);
  }
  scheduler::Core core(scheduler::CoreOptions(), "");
  Summary summary;
  const absl::Status read = journal->Read([&](uint64_t sequence, const v1::Record& record) {
    core.Recover(record);
    if (record.has_snapshot()) {
      summary.snapshot_through = sequence;
    } else {
      ++summary.records;
    }
    summary.last_sequence = sequence;
    summary.last_unix_ms = record.unix_ms();
    if (shows) std::fputs((json ? JsonOf(sequence, record) : TextOf(sequence, record)).c_str(), stdout);
  });
  if (!read.ok()) return Fail(std::string(read.message()), kExitJobFailed);
  if (const absl::Status past = core.CheckRecovered(); !past.ok()) {
    return Fail(absl::StrCat(words[1], ": ", past.message()), kExitJobFailed);
  }
  const v1::Record known = core.TakeSnapshot();
  if (!shows) std::fputs(SoundText(words[1], *journal, summary, known.snapshot(), json).c_str(), stdout);
  return kExitSuccess;
}

}  // namespace muster::ctl
