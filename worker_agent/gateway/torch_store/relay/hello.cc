#include "worker_agent/gateway/torch_store/relay/hello.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace muster::torch_store {
namespace {

constexpr std::string_view kLinkMagic = "MUSTRLNK";

// An answer's first byte.
constexpr uint8_t kGoesOn = 0;
constexpr uint8_t kUnknown = 1;
constexpr uint8_t kRefused = 2;

template <typename Number>
void Put(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void PutText(std::string& out, const std::string& text) {
  Put(out, static_cast<uint8_t>(text.size()));
  out += text;
}

// Once the bytes have run out, all that follows is empty.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool is_short() const { return is_short_; }
  std::string_view rest() const { return rest_; }

  template <typename Number>
  Number Take() {
    Number number{};
    const std::string_view bytes = TakeBytes(sizeof(number));
    if (!bytes.empty()) std::memcpy(&number, bytes.data(), sizeof(number));
    return number;
  }
  std::string_view TakeBytes(size_t size) {
    if (is_short_ || rest_.size() < size) {
      is_short_ = true;
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  std::string TakeText() { return std::string(TakeBytes(Take<uint8_t>())); }

 private:
  std::string_view rest_;
  bool is_short_ = false;
};

}  // namespace

std::string HelloBytes(const LinkHello& hello) {
  std::string out(kLinkMagic);
  Put(out, hello.version);
  Put(out, static_cast<uint8_t>(hello.is_new));
  out += hello.session;
  Put(out, hello.run);
  Put(out, hello.round);
  Put(out, hello.received);
  PutText(out, hello.job);
  PutText(out, hello.node);
  return out;
}

absl::StatusOr<std::optional<LinkHello>> TakeHello(std::string_view& bytes) {
  const std::string_view magic = bytes.substr(0, kLinkMagic.size());
  if (kLinkMagic.substr(0, magic.size()) != magic) {
    return absl::InvalidArgumentError("it is no agent's link, which is all that is served here");
  }
  Reader reader(bytes.substr(magic.size()));
  LinkHello hello;
  hello.version = reader.Take<uint8_t>();
  if (!reader.is_short() && (hello.version < kFirstLinkVersion || hello.version > kLinkVersion)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a link of version ", static_cast<int>(hello.version), "; versions ", static_cast<int>(kFirstLinkVersion),
        " to ", static_cast<int>(kLinkVersion), " are known here: use one version of Muster"));
  }
  hello.is_new = reader.Take<uint8_t>() != 0;
  hello.session = reader.TakeBytes(kSessionBytes);
  hello.run = reader.Take<uint64_t>();
  hello.round = reader.Take<uint32_t>();
  hello.received = reader.Take<uint64_t>();
  hello.job = reader.TakeText();
  hello.node = reader.TakeText();
  if (reader.is_short()) return std::nullopt;
  bytes = reader.rest();
  return hello;
}

std::string AnswerBytes(const LinkAnswer& answer) {
  std::string out;
  const std::string refusal = answer.refusal.substr(0, kMaxRefusalBytes);
  Put(out, static_cast<uint8_t>(!refusal.empty() ? kRefused : answer.goes_on ? kGoesOn : kUnknown));
  Put(out, answer.received);
  if (refusal.empty()) return out;
  Put(out, static_cast<uint16_t>(refusal.size()));
  return out + refusal;
}

absl::StatusOr<std::optional<LinkAnswer>> TakeAnswer(std::string_view& bytes) {
  Reader reader(bytes);
  const auto verdict = reader.Take<uint8_t>();
  if (verdict > kRefused) return absl::InvalidArgumentError("what answers is no agent's store");
  LinkAnswer answer;
  answer.goes_on = verdict == kGoesOn;
  answer.received = reader.Take<uint64_t>();
  if (verdict == kRefused) {
    const auto size = reader.Take<uint16_t>();
    if (size > kMaxRefusalBytes || (size == 0 && !reader.is_short())) {
      return absl::InvalidArgumentError("what answers is no agent's store");
    }
    answer.refusal = reader.TakeBytes(size);
  }
  if (reader.is_short()) return std::nullopt;
  bytes = reader.rest();
  return answer;
}

}  // namespace muster::torch_store
