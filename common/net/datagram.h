// Heartbeats and their answers as datagrams, sent over UDP beside a Session stream. docs/protocol.md has the bytes.
//
// A datagram belongs to one stream and is sealed with that stream's key (AES-256-GCM, NIST SP 800-38D). No one else can
// read or make it, or pass it off as one of the other direction. The stream and the number stand in front of it, as in
// DTLS. Direction and number are the nonce, so a number may be sealed once for each stream and direction.
// Without TLS anyone who can listen has seen the key, so nothing is secret: the key itself takes the tag's place. That
// keeps out those who can't listen, and saves an agent without TLS OpenSSL's 2.5 MB.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace muster {

struct HeartbeatDatagram {
  uint64_t stream = 0;
  uint64_t heartbeat_seq = 0;
  uint32_t armed_fence_ms = 0;  // as in v1::Report

  static constexpr size_t kBytes = 40;
};

// The fields of v1::Acknowledgement, except the nodes that are waited for.
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
  bool is_secret = true;  // was sent over TLS

  // Takes the key from the kernel. Aborts if the kernel gives none.
  static DatagramKey New(bool is_secret);
  static std::optional<DatagramKey> FromBytes(std::string_view bytes, bool is_secret);
};

// Returns the stream that an unchecked datagram claims to belong to; 0 if it is none of these datagrams.
uint64_t StreamOfDatagram(std::string_view bytes);

// Seals and opens datagrams. For one thread at a time.
class DatagramSeal {
 public:
  std::array<char, HeartbeatDatagram::kBytes> Seal(const HeartbeatDatagram& heartbeat, const DatagramKey& key);
  std::array<char, AnswerDatagram::kBytes> Seal(const AnswerDatagram& answer, const DatagramKey& key);

  // Returns nullopt unless the bytes are of that sort, whole, and sealed with `key`.
  std::optional<HeartbeatDatagram> OpenHeartbeat(std::string_view sealed, const DatagramKey& key);
  std::optional<AnswerDatagram> OpenAnswer(std::string_view sealed, const DatagramKey& key);

 private:
  // Work in place: the head stays as it is, the tag is at the end.
  void Seal(char* bytes, size_t size, const DatagramKey& key);
  bool Open(char* bytes, size_t size, const DatagramKey& key);
  void Encrypt(char* bytes, size_t size, const DatagramKey& key);
  bool Decrypt(char* bytes, size_t size, const DatagramKey& key);
  void Load();

  struct Free {
    void operator()(EVP_CIPHER* cipher) const { EVP_CIPHER_free(cipher); }
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  };
  std::unique_ptr<EVP_CIPHER, Free> cipher_;  // made with the first secret key
  std::unique_ptr<EVP_CIPHER_CTX, Free> context_;
};

}  // namespace muster
