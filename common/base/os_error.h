// An absl::Status that carries the errno of the failed call, for callers that depend on which error it was.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster {

inline constexpr absl::string_view kErrnoPayload = "muster/errno";

// Returns an error with the text of `what` and of the errno `error`: "WHAT: No space left on device" for ENOSPC.
inline absl::Status OsError(absl::StatusCode code, absl::string_view what, int error) {
  absl::Status status(code, absl::StrCat(what, ": ", std::strerror(error)));
  status.SetPayload(kErrnoPayload, absl::Cord(absl::StrCat(error)));
  return status;
}

// As OsError, for a file or folder: NOT_FOUND if it does not exist (ENOENT), else UNAVAILABLE.
inline absl::Status FileError(absl::string_view what, int error) {
  return OsError(error == ENOENT ? absl::StatusCode::kNotFound : absl::StatusCode::kUnavailable, what, error);
}

// Returns the errno that the status carries; 0 if it carries none.
inline int ErrnoOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kErrnoPayload);
  int error = 0;
  return payload && absl::SimpleAtoi(std::string(*payload), &error) ? error : 0;
}

// Returns the same error with another text.
inline absl::Status Reworded(const absl::Status& status, absl::string_view text) {
  absl::Status reworded(status.code(), text);
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { reworded.SetPayload(url, payload); });
  return reworded;
}

}  // namespace muster
