// The texts with which libraries report a failure, and the reason (common/base/reason.h) for each. The rows are in
// known_texts_table.cc; the codes of device drivers are in device_codes.cc. Pure.
#pragma once

#include "absl/strings/string_view.h"

namespace muster {

// The place where a text must occur to count: in any line, or only in an exception. kException is for texts that
// programs also log when nothing is wrong.
enum class TextPlace { kLine, kException };

// Returns the reason that an exception's type alone gives, for example "ModuleNotFoundError" with or without its
// module. Empty if the type gives none.
absl::string_view ReasonByType(absl::string_view type);

// The weight of a reason as evidence of the cause. A hardware fault (kHardware) makes everything after it fail. A
// report that a peer did not answer (kConsequence) counts only if nothing else is known.
enum class Evidence { kConsequence, kOwn, kHardware };
Evidence EvidenceOf(absl::string_view reason);

// Returns the reason of the first row that matches the text and has at least the weight `least`; empty if none does.
// Takes time in proportion to the text's length.
absl::string_view ReasonByText(absl::string_view text, TextPlace place, Evidence least = Evidence::kConsequence);

}  // namespace muster
