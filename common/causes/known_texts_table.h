// The rows of the table that known_texts.h looks texts up in. Only known_texts.cc needs them. Pure.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/causes/known_texts.h"

namespace muster {

struct KnownText {
  absl::string_view text;
  absl::string_view reason;  // common/base/reason.h
  TextPlace place = TextPlace::kLine;
  absl::string_view also = "";  // a second text that must occur, too
};

// Returns the texts of programs, in lower case. The first row that matches counts.
absl::Span<const KnownText> KnownTexts();

// Returns error codes, in lower case. A program writes one before a colon or in parentheses.
absl::Span<const KnownText> KnownCodes();

// Returns the names of exceptions' types, without a module.
absl::Span<const KnownText> KnownTypes();

}  // namespace muster
