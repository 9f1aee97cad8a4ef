// What OpenSSL left in this thread's queue of errors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster {

// Takes all of them, the oldest first.
std::vector<unsigned long> TakeOpenSslErrors();  // NOLINT(google-runtime-int): OpenSSL's type

bool HasReason(const std::vector<unsigned long>& errors, int library, int reason);  // NOLINT(google-runtime-int)

// "mac verify failure"; "no reason given" for none.
std::string OpenSslReason(const std::vector<unsigned long>& errors);  // NOLINT(google-runtime-int)

}  // namespace muster
