#include "scheduler/rpc/field_checks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/ids.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/net/address_rules.h"
#include "common/net/ip_address.h"

namespace muster::scheduler {

absl::Status CheckOptionalId(const std::string& field, const std::string& value) {
  if (value.size() > kMaxIdBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " has ", value.size(), " bytes; at most ", kMaxIdBytes, " are allowed"));
  }
  if (!std::all_of(value.begin(), value.end(), IsIdCharacter)) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " ", Quoted(value), " has other characters than letters, digits and . _ : @ -"));
  }
  if (!value.empty() && !IsId(value)) {
    return absl::InvalidArgumentError(absl::StrCat(field, " ", Quoted(value), " names a folder: choose another id"));
  }
  return absl::OkStatus();
}

absl::Status CheckId(const std::string& field, const std::string& value) {
  if (value.empty()) return absl::InvalidArgumentError(absl::StrCat(field, " is empty"));
  return CheckOptionalId(field, value);
}

absl::Status CheckSize(const std::string& field, const std::string& value, size_t limit) {
  if (value.size() <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " has ", value.size(), " bytes; at most ", limit, " are allowed"));
}

absl::Status CheckLine(const std::string& field, const std::string& value, size_t limit) {
  if (absl::Status status = CheckSize(field, value, limit); !status.ok()) return status;
  if (std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
    return absl::InvalidArgumentError(absl::StrCat(field, " ", Quoted(value), " has control characters"));
  }
  return absl::OkStatus();
}

absl::Status CheckOptionalAddress(const std::string& field, const std::string& value) {
  if (absl::Status status = CheckSize(field, value, kMaxIdBytes); !status.ok()) return status;
  if (value.empty() || IpAddress::Parse(value).has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " ", Quoted(value), " is not a numeric IPv4 or IPv6 address"));
}

absl::Status CheckReportedAddress(const std::string& field, const std::string& value) {
  if (absl::Status status = CheckOptionalAddress(field, value); !status.ok()) return status;
  const auto address = IpAddress::Parse(value);
  if (!address || !IsLinkLocal(*address)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " ", Quoted(value), " ", kNoLinkLocal));
}

absl::Status CheckRange(const std::string& field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", value, "; expected ", low, " to ", high));
}

absl::Status CheckPort(const std::string& field, uint32_t value) { return CheckRange(field, value, 0, 65535); }

}  // namespace muster::scheduler
