// MindSpore's clients use one of two numberings of the replies to metadata requests. They compare the number as text
// and treat every unknown number as "not there". So a server must know which numbering its client uses:
//
//               add    there       not there
//   to 2.7.0    12     10          11      (kOld)
//   from 2.7.1  10     11          12      (kNew)
//
// No message names a version, but the timing of a registration shows it. An old client waits at least half a second
// from the connect to the registration on that connection. A new client registers at once (with TLS, right after the
// handshake).
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace muster::mindspore {

enum class Dialect { kOld, kNew };

inline constexpr absl::Duration kRegistersAtOnce = absl::Milliseconds(300);

// Requests. The numbers are the same in both dialects, except for the addition (AddNumber).
inline constexpr uint32_t kRegister = 0;
inline constexpr uint32_t kUnregister = 1;
inline constexpr uint32_t kHeartbeat = 2;
inline constexpr uint32_t kWriteMetadata = 6;
inline constexpr uint32_t kReadMetadata = 7;
inline constexpr uint32_t kDeleteMetadata = 8;
inline constexpr uint32_t kHostNames = 9;

// Replies.
inline constexpr uint32_t kSuccess = 3;
inline constexpr uint32_t kInvalidNode = 4;
inline constexpr uint32_t kNotInitialized = 5;

constexpr uint32_t AddNumber(Dialect dialect) { return dialect == Dialect::kNew ? 10 : 12; }
constexpr uint32_t ThereNumber(Dialect dialect) { return dialect == Dialect::kNew ? 11 : 10; }
constexpr uint32_t NotThereNumber(Dialect dialect) { return dialect == Dialect::kNew ? 12 : 11; }

// The dialect of all clients at one address, known or guessed. The registration gives a first guess. The next request
// corrects a wrong one: a client that did not understand "there" asks for the same key again.
class DialectGuess {
 public:
  Dialect current() const { return current_; }

  void Registered(absl::Duration since_connect) {
    if (!is_certain_) current_ = since_connect < kRegistersAtOnce ? Dialect::kNew : Dialect::kOld;
  }

  // Evaluates a request's number: old clients never send the number 10.
  void Asked(uint32_t number) {
    if (number != AddNumber(Dialect::kNew)) return;
    current_ = Dialect::kNew;
    is_certain_ = true;
  }

  void Understood() { is_certain_ = true; }

  // Called when all clients of the address have gone. The next registration makes a new guess. Until then the guess
  // stays, for a client that comes back without registering.
  void Doubt() { is_certain_ = false; }

  void Misunderstood() {
    if (is_certain_) return;
    current_ = current_ == Dialect::kNew ? Dialect::kOld : Dialect::kNew;
    is_certain_ = true;
  }

 private:
  Dialect current_ = Dialect::kOld;
  bool is_certain_ = false;
};

}  // namespace muster::mindspore
