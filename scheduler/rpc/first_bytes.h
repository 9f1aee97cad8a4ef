// What the first bytes of a connection say about who is there. Pure.
#pragma once

#include <cstddef>
#include <string>

namespace muster::scheduler {

enum class FirstBytes { kHttp2, kTls, kGarbage };

inline constexpr size_t kFirstBytesWanted = 24;  // the client preface of HTTP/2 (RFC 9113, 3.4)

// `bytes`: at least one, as many as are there already. A beginning of the preface counts as HTTP/2.
FirstBytes Classify(const std::string& bytes);

}  // namespace muster::scheduler
