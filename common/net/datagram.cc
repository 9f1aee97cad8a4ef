#include "common/net/datagram.h"

#include <openssl/crypto.h>
#include <sys/random.h>

#include <algorithm>

#include "common/base/bytes.h"
#include "common/base/check.h"
#include "common/base/limits.h"

namespace muster {
namespace {

// The first four bytes (the head): magic number, version, and 1 for a heartbeat or 2 for an answer.
constexpr std::string_view kHeartbeat("MH\x01\x01", 4);
constexpr std::string_view kAnswer("MH\x01\x02", 4);

constexpr size_t kNumberAt = 12;    // after the head and the stream
constexpr size_t kClearBytes = 20;  // head, stream, number: not encrypted
constexpr size_t kNonceBytes = 12;  // head, number
constexpr size_t kTagBytes = 16;

// Copies `bytes` to the front of `to`. The rest of `to` is left for the tag.
template <size_t kSize>
void CopyTo(std::array<char, kSize>& to, std::string_view bytes) {
  std::copy(bytes.begin(), bytes.end(), to.begin());
}

BigEndianReader FieldsOf(std::string_view bytes) { return BigEndianReader(bytes.substr(kHeartbeat.size())); }

bool HasForm(std::string_view bytes, std::string_view head, size_t size, size_t max_more = 0) {
  return bytes.size() >= size && bytes.size() - size <= max_more && bytes.substr(0, head.size()) == head;
}

bool IsHeartbeat(std::string_view bytes) {
  return HasForm(bytes, kHeartbeat, HeartbeatDatagram::kBytes, kMaxProgressBytes);
}

std::array<unsigned char, kNonceBytes> NonceOf(const char* bytes) {
  std::array<unsigned char, kNonceBytes> nonce;
  std::copy_n(bytes, kHeartbeat.size(), nonce.begin());
  std::copy_n(bytes + kNumberAt, sizeof(uint64_t), nonce.begin() + kHeartbeat.size());
  return nonce;
}

unsigned char* Unsigned(char* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

}  // namespace

DatagramKey DatagramKey::New(bool is_secret) {
  DatagramKey key;
  key.is_secret = is_secret;
  const ssize_t given = getrandom(key.bytes.data(), key.bytes.size(), 0);
  MUSTER_CHECK(given == static_cast<ssize_t>(key.bytes.size()), "the kernel gives keys");
  return key;
}

std::optional<DatagramKey> DatagramKey::FromBytes(std::string_view bytes, bool is_secret) {
  DatagramKey key;
  if (bytes.size() != key.bytes.size()) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), key.bytes.begin());
  key.is_secret = is_secret;
  return key;
}

uint64_t StreamOfDatagram(std::string_view bytes) {
  if (!IsHeartbeat(bytes) && !HasForm(bytes, kAnswer, AnswerDatagram::kBytes)) return 0;
  return BigEndianReader(bytes.substr(kHeartbeat.size())).Take<uint64_t>();
}

void DatagramSeal::Seal(char* bytes, size_t size, const DatagramKey& key) {
  if (key.is_secret) return Encrypt(bytes, size, key);
  std::copy_n(key.bytes.begin(), kTagBytes, bytes + size - kTagBytes);
}

bool DatagramSeal::Open(char* bytes, size_t size, const DatagramKey& key) {
  if (key.is_secret) return Decrypt(bytes, size, key);
  return CRYPTO_memcmp(key.bytes.data(), bytes + size - kTagBytes, kTagBytes) == 0;
}

void DatagramSeal::Load() {
  if (context_ != nullptr) return;
  cipher_.reset(EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr));
  context_.reset(EVP_CIPHER_CTX_new());
  MUSTER_CHECK(cipher_ != nullptr && context_ != nullptr, "OpenSSL has AES-256-GCM");
}

void DatagramSeal::Encrypt(char* bytes, size_t size, const DatagramKey& key) {
  Load();
  const auto nonce = NonceOf(bytes);
  unsigned char* const secret = Unsigned(bytes + kClearBytes);
  const int secret_size = static_cast<int>(size - kClearBytes - kTagBytes);
  int done = 0;
  const bool is_sealed =
      EVP_EncryptInit_ex2(context_.get(), cipher_.get(), key.bytes.data(), nonce.data(), nullptr) == 1 &&
      EVP_EncryptUpdate(context_.get(), nullptr, &done, Unsigned(bytes), kClearBytes) == 1 &&
      EVP_EncryptUpdate(context_.get(), secret, &done, secret, secret_size) == 1 && done == secret_size &&
      EVP_EncryptFinal_ex(context_.get(), secret + done, &done) == 1 &&
      EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, secret + secret_size) == 1;
  MUSTER_CHECK(is_sealed, "OpenSSL seals");
}

bool DatagramSeal::Decrypt(char* bytes, size_t size, const DatagramKey& key) {
  Load();
  const auto nonce = NonceOf(bytes);
  unsigned char* const secret = Unsigned(bytes + kClearBytes);
  const int secret_size = static_cast<int>(size - kClearBytes - kTagBytes);
  int done = 0;
  return EVP_DecryptInit_ex2(context_.get(), cipher_.get(), key.bytes.data(), nonce.data(), nullptr) == 1 &&
         EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, secret + secret_size) == 1 &&
         EVP_DecryptUpdate(context_.get(), nullptr, &done, Unsigned(bytes), kClearBytes) == 1 &&
         EVP_DecryptUpdate(context_.get(), secret, &done, secret, secret_size) == 1 &&
         EVP_DecryptFinal_ex(context_.get(), secret + done, &done) == 1;
}

std::string DatagramSeal::Seal(const HeartbeatDatagram& heartbeat, const DatagramKey& key) {
  MUSTER_CHECK(heartbeat.progress.size() <= kMaxProgressBytes, "the progress fits");
  std::string bytes = BigEndianWriter()
                          .Bytes(kHeartbeat)
                          .Put(heartbeat.stream)
                          .Put(heartbeat.heartbeat_seq)
                          .Put(heartbeat.armed_fence_ms)
                          .Bytes(heartbeat.progress)
                          .Take();
  bytes.resize(bytes.size() + kTagBytes);
  Seal(bytes.data(), bytes.size(), key);
  return bytes;
}

std::array<char, AnswerDatagram::kBytes> DatagramSeal::Seal(const AnswerDatagram& answer, const DatagramKey& key) {
  std::array<char, AnswerDatagram::kBytes> bytes;
  CopyTo(bytes, BigEndianWriter()
                    .Bytes(kAnswer)
                    .Put(answer.stream)
                    .Put(answer.heartbeat_seq)
                    .Put(answer.events_through)
                    .Put(answer.fence_timeout_ms)
                    .Put(answer.heartbeat_interval_ms)
                    .Take());
  Seal(bytes.data(), bytes.size(), key);
  return bytes;
}

std::optional<HeartbeatDatagram> DatagramSeal::OpenHeartbeat(std::string_view sealed, const DatagramKey& key) {
  if (!IsHeartbeat(sealed)) return std::nullopt;
  std::string bytes(sealed);
  if (!Open(bytes.data(), bytes.size(), key)) return std::nullopt;
  HeartbeatDatagram heartbeat;
  BigEndianReader reader = FieldsOf(bytes);
  heartbeat.stream = reader.Take<uint64_t>();
  heartbeat.heartbeat_seq = reader.Take<uint64_t>();
  heartbeat.armed_fence_ms = reader.Take<uint32_t>();
  heartbeat.progress = bytes.substr(HeartbeatDatagram::kBytes - kTagBytes, bytes.size() - HeartbeatDatagram::kBytes);
  return heartbeat;
}

std::optional<AnswerDatagram> DatagramSeal::OpenAnswer(std::string_view sealed, const DatagramKey& key) {
  if (!HasForm(sealed, kAnswer, AnswerDatagram::kBytes)) return std::nullopt;
  std::array<char, AnswerDatagram::kBytes> bytes;
  CopyTo(bytes, sealed);
  if (!Open(bytes.data(), bytes.size(), key)) return std::nullopt;
  AnswerDatagram answer;
  BigEndianReader reader = FieldsOf({bytes.data(), bytes.size()});
  answer.stream = reader.Take<uint64_t>();
  answer.heartbeat_seq = reader.Take<uint64_t>();
  answer.events_through = reader.Take<uint64_t>();
  answer.fence_timeout_ms = reader.Take<uint32_t>();
  answer.heartbeat_interval_ms = reader.Take<uint32_t>();
  return answer;
}

}  // namespace muster
