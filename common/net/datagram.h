// Heartbeats and their answers as datagrams, sent over UDP beside a Session stream. docs/protocol.md describes each
// byte.
//
// A datagram belongs to one stream and is sealed with that stream's key (AES-256-GCM, NIST SP 800-38D). Without the
// key, no one can read it, forge it, or send it back in the other direction. The stream and the number stand in front
// of it, not encrypted, as in DTLS. Direction and number are the nonce, so each number may be sealed only once for each
// stream and direction.
//
// Without TLS, the key itself stands in the tag's place, and nothing is encrypted: anyone who can read the network has
// seen the key anyway. That still keeps out senders that can't read the network, and it saves an agent without TLS the
// 2.5 MB of OpenSSL.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

struct HeartbeatDatagram {
  uint64_t stream = 0;
  uint64_t heartbeat_seq = 0;
  uint32_t armed_fence_ms = 0;  // as in v1::Report
  // A serialised v1::Report with the progress only; empty: the node has none. Only if the scheduler has offered to take
  // it (v1::DatagramOffer), because older ones drop longer datagrams.
  std::string progress = {};

  static constexpr size_t kBytes = 40;  // without progress, which has at most kMaxProgressBytes more
};

// The fields of v1::Acknowledgement, except `waiting`.
struct AnswerDatagram {
  uint64_t stream = 0;
  uint64_t heartbeat_seq = 0;
  uint64_t events_through = 0;
  uint32_t fence_timeout_ms = 0;
  uint32_t heartbeat_interval_ms = 0;

  static constexpr size_t kBytes = 52;
};

struct DatagramKey {
  std::array<unsigned char, 32> bytes{};
  bool is_secret = true;  // it was sent over TLS

  // Makes a random key from the kernel's random numbers. Aborts if the kernel gives none.
  static DatagramKey New(bool is_secret);
  static std::optional<DatagramKey> FromBytes(std::string_view bytes, bool is_secret);
};

// Returns the stream number in a datagram, before its seal is checked; 0 if it is neither a heartbeat nor an answer.
uint64_t StreamOfDatagram(std::string_view bytes);

// Seals and opens datagrams. May be used by one thread at a time.
class DatagramSeal {
 public:
  // The progress must be within its limit.
  std::string Seal(const HeartbeatDatagram& heartbeat, const DatagramKey& key);
  std::array<char, AnswerDatagram::kBytes> Seal(const AnswerDatagram& answer, const DatagramKey& key);

  // Returns nullopt unless the bytes are a complete datagram of this kind, sealed with `key`.
  std::optional<HeartbeatDatagram> OpenHeartbeat(std::string_view sealed, const DatagramKey& key);
  std::optional<AnswerDatagram> OpenAnswer(std::string_view sealed, const DatagramKey& key);

 private:
  // Seal or open the bytes in place. The head stays as it is, and the tag is at the end.
  void Seal(char* bytes, size_t size, const DatagramKey& key);
  bool Open(char* bytes, size_t size, const DatagramKey& key);
  void Encrypt(char* bytes, size_t size, const DatagramKey& key);
  bool Decrypt(char* bytes, size_t size, const DatagramKey& key);
  void Load();

  struct Free {
    void operator()(EVP_CIPHER* cipher) const { EVP_CIPHER_free(cipher); }
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  };
  std::unique_ptr<EVP_CIPHER, Free> cipher_;  // created with the first key that is secret
  std::unique_ptr<EVP_CIPHER_CTX, Free> context_;
};

}  // namespace muster
