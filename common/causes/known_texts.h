// The texts with which libraries report why they fail, and the reason that each stands for. known_texts.cc is the
// table. Pure.
#pragma once

#include "absl/strings/string_view.h"

namespace muster {

// Where a text counts. What programs also log when nothing is wrong counts in an exception only.
enum class TextPlace { kLine, kException };

// The reason that an exception's type has by itself, "ModuleNotFoundError" with or without its module; empty: none.
absl::string_view ReasonByType(absl::string_view type);

// How much a reason says of the cause: everything after a fault of the hardware failed because of it; a report that a
// peer did not answer is a cause only if nothing else is known.
enum class Evidence { kConsequence, kOwn, kHardware };
Evidence EvidenceOf(absl::string_view reason);

// The reason of the first row that is in the text and says as much as `least`; empty: none. Takes time in proportion to
// the text's length.
absl::string_view ReasonByText(absl::string_view text, TextPlace place, Evidence least = Evidence::kConsequence);

}  // namespace muster
