// Heartbeats and their answers as datagrams: what goes over UDP beside a Session stream. docs/protocol.md has the
// bytes.
//
// A datagram belongs to one stream and is sealed with that stream's key (AES-256-GCM, NIST SP 800-38D): nobody else can
// read or make it, or take it for one of the other direction. The stream and the number stand in front of it, as in
// DTLS. Direction and number are the nonce, so a number may be sealed once for each stream and direction.
// Without TLS, where whoever listens has seen the key, it stands itself where the tag would, and nothing is secret:
// that keeps out who does not listen, and an agent without TLS needs none of OpenSSL's 2.5 MB for it.
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

// The fields of v1::Acknowledgement, but for who is waited for.
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
  bool is_secret = true;  // told over TLS

  // From the kernel. Aborts if it has none to give.
  static DatagramKey New(bool is_secret);
  static std::optional<DatagramKey> FromBytes(std::string_view bytes, bool is_secret);
};

// The stream that a datagram claims to belong to, before anything else of it is known; 0 if it is none of these.
uint64_t StreamOfDatagram(std::string_view bytes);

// Seals and opens. For one thread at a time.
class DatagramSeal {
 public:
  std::array<char, HeartbeatDatagram::kBytes> Seal(const HeartbeatDatagram& heartbeat, const DatagramKey& key);
  std::array<char, AnswerDatagram::kBytes> Seal(const AnswerDatagram& answer, const DatagramKey& key);

  // None if the bytes are not of that sort, whole, and sealed with `key`.
  std::optional<HeartbeatDatagram> OpenHeartbeat(std::string_view sealed, const DatagramKey& key);
  std::optional<AnswerDatagram> OpenAnswer(std::string_view sealed, const DatagramKey& key);

 private:
  // In place: the head stays as it is, the tag is the end.
  void Seal(char* bytes, size_t size, const DatagramKey& key);
  bool Open(char* bytes, size_t size, const DatagramKey& key);
  void Encrypt(char* bytes, size_t size, const DatagramKey& key);
  bool Decrypt(char* bytes, size_t size, const DatagramKey& key);
  void Load();

  struct Free {
    void operator()(EVP_CIPHER* cipher) const { EVP_CIPHER_free(cipher); }
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  };
  std::unique_ptr<EVP_CIPHER, Free> cipher_;  // from the first secret on
  std::unique_ptr<EVP_CIPHER_CTX, Free> context_;
};

}  // namespace muster
