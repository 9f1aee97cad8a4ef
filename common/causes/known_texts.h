// The texts with which libraries report why they fail, and the reason for each. known_texts.cc is the table. Pure.
#pragma once

#include "absl/strings/string_view.h"

namespace muster {

// The place where a text counts. A text that programs also log when nothing is wrong counts in an exception only.
enum class TextPlace { kLine, kException };

// Returns the reason for an exception's type alone, for example "ModuleNotFoundError" with or without its module; empty
// if there is none.
absl::string_view ReasonByType(absl::string_view type);

// A reason's weight as evidence of the cause. Everything after a fault of the hardware failed because of it; a report
// that a peer did not answer is a cause only if nothing else is known.
enum class Evidence { kConsequence, kOwn, kHardware };
Evidence EvidenceOf(absl::string_view reason);

// Returns the reason of the first row that matches the text and has at least the weight `least`; empty if none does.
// Takes time in proportion to the text's length.
absl::string_view ReasonByText(absl::string_view text, TextPlace place, Evidence least = Evidence::kConsequence);

}  // namespace muster
