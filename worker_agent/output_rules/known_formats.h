// The progress lines of well-known trainers, for --expect auto. known_formats.cc is the table.
#pragma once

#include "absl/types/span.h"

namespace muster::agent {

struct KnownFormat {
  const char* name;     // of the trainer, for people: "tqdm"
  const char* pattern;  // RE2; its first group is the number that changes with each step
};

// Special formats come before general ones: the first that matches a line names the trainer.
absl::Span<const KnownFormat> KnownFormats();

}  // namespace muster::agent
