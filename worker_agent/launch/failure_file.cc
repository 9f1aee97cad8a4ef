#include "worker_agent/launch/failure_file.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/limits.h"
#include "common/sys/file_io.h"
#include "common/sys/private_folder.h"

namespace muster::agent {
namespace {

using Json = nlohmann::ordered_json;

std::string IsoTime(int64_t unix_ms) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMillis(unix_ms), absl::UTCTimeZone());
}

}  // namespace

std::string SignalName(int signal) {
  if (signal == 0) return "";
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? absl::StrCat("signal ", signal) : absl::StrCat("SIG", name);
}

std::string FailureText(const std::string& job_id, uint64_t run, const v1::Outcome& outcome) {
  const v1::Cause& cause = outcome.cause();
  Json lines = Json::array();
  for (const std::string& line : cause.last_lines()) {
    if (lines.size() < kMaxLastLines) lines.push_back(line);
  }
  Json file;
  file["schema"] = "muster.failure/1";
  file["job"] = job_id;
  file["run"] = run;
  file["kind"] = v1::Cause::Kind_Name(cause.kind());
  file["reason"] = cause.reason().empty() ? Json() : Json(cause.reason());
  file["cause"] = cause.text();
  file["rank"] = cause.has_rank() ? Json(cause.rank()) : Json();
  file["role"] = cause.role() == v1::ROLE_SERVER ? "server" : "worker";
  file["node_id"] = cause.node_id();
  file["host"] = cause.host_name();
  file["exit_code"] = cause.signal() != 0 ? Json() : Json(cause.exit_code());
  file["signal"] = cause.signal();
  file["signal_name"] = SignalName(cause.signal());
  file["last_lines"] = std::move(lines);
  file["log_file"] = cause.log_file();
  file["remedy"] = cause.remedy();
  file["ended"] = IsoTime(outcome.ended_unix_ms());
  return file.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string FailureFile(const std::string& log_dir) { return absl::StrCat(log_dir, "/failure.json"); }

absl::Status WriteFailureFile(const std::string& log_dir, const std::string& job_id, uint64_t run,
                              const v1::Outcome& outcome) {
  const auto folder = OpenFolder(log_dir, {FolderTrust::kShared, /*makes_missing=*/true});
  if (!folder.ok()) {
    return absl::UnavailableError(
        absl::StrCat("cannot make the folder of --log_dir ", log_dir, ": ", folder.status().message()));
  }
  return WriteFileAtomically(FailureFile(log_dir), FailureText(job_id, run, outcome), 0644);
}

}  // namespace muster::agent
