// A process's output as its agent reports it: the last lines, and the exception that the agent found in them.
#pragma once

#include <vector>

#include "absl/strings/str_split.h"
#include "common/causes/exceptions.h"
#include "muster/v1/types.pb.h"

namespace muster {

inline void ReportOutput(absl::string_view output, char line_end, v1::ProcessEnded& ended) {
  const std::vector<absl::string_view> lines = absl::StrSplit(output, line_end);
  for (const absl::string_view line : lines) ended.add_last_lines(std::string(line));
  const auto found = FindException(lines);
  if (!found) return;
  v1::RaisedException& exception = *ended.mutable_exception();
  exception.set_type(found->type);
  exception.set_message(found->message);
  exception.set_file(found->file);
  exception.set_line(found->line);
  exception.set_is_native(found->is_native);
}

}  // namespace muster
