// The two numberings of the replies to metadata requests. MindSpore's clients compare the number as text and treat
// every other number as "not there", so a server must know which numbering its client uses:
//
//               add    there       not there
//   to 2.7.0    12     10          11      (kOld)
//   from 2.7.1  10     11          12      (kNew)
//
// Nothing on the wire names a version. A process shows it by its timing: old clients wait at least half a second
// between the connect of the connection that they register on and the registration; new ones register at once (in TLS,
// right after the handshake).
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace muster::mindspore {

enum class Dialect { kOld, kNew };

inline constexpr absl::Duration kRegistersAtOnce = absl::Milliseconds(300);

// Requests, the same in both except for the addition.
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

// The known or guessed numbering of the clients of one origin. The registration gives a first guess. The next request
// corrects a wrong guess: a client that did not understand "there" asks for the same key again.
class DialectGuess {
 public:
  Dialect current() const { return current_; }

  void Registered(absl::Duration since_connect) {
    if (!is_certain_) current_ = since_connect < kRegistersAtOnce ? Dialect::kNew : Dialect::kOld;
  }

  // Takes note of a request's number: old clients never ask for 10.
  void Asked(uint32_t number) {
    if (number != AddNumber(Dialect::kNew)) return;
    current_ = Dialect::kNew;
    is_certain_ = true;
  }

  void Understood() { is_certain_ = true; }

  // All clients of that origin have gone. A client that comes back without registering uses the same dialect as before;
  // the next registration makes a new guess.
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
