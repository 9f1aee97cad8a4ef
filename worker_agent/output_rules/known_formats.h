// The progress lines of well-known trainers, for --expect auto. known_formats.cc is the table.
#pragma once

#include <string_view>

#include "absl/types/span.h"

namespace muster::agent {

struct KnownFormat {
  const char* name;     // of the trainer, for people: "tqdm"
  const char* pattern;  // RE2; its first group, if it has one, is the number that changes with each step
};

// Special formats come before general ones: the first that matches a line names the trainer.
absl::Span<const KnownFormat> KnownFormats();

// True if the line is a bar of loading or preparing data: it is no progress of the training.
bool IsLoadBar(std::string_view line);

}  // namespace muster::agent
