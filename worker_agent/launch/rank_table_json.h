// The text of a rank table as JSON, and where it slips: tables are merged and edited by hand. rank_table.cc reads what
// the JSON holds.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/statusor.h"

namespace muster::agent {

// The table's object. The error's message has the slip's line and column (both from 1; a column is a character) and
// how to correct it. Texts of any size and depth are taken.
absl::StatusOr<nlohmann::json> ParseTableJson(const std::string& text);

// The name of the other format that this object is in, and how it can be had as a table that is read; empty: none that
// is known.
std::string OtherFormat(const nlohmann::json& table);

}  // namespace muster::agent
