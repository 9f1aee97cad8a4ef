#include "worker_agent/gateway/torch_store/relay/hello.h"

#include "absl/strings/str_cat.h"
#include "common/base/bytes.h"

namespace muster::torch_store {
namespace {

constexpr std::string_view kLinkMagic = "MUSTRLNK";

// The first byte of an answer.
constexpr uint8_t kGoesOn = 0;
constexpr uint8_t kUnknown = 1;
constexpr uint8_t kRefused = 2;

}  // namespace

std::string HelloBytes(const LinkHello& hello) {
  return LittleEndianWriter()
      .Bytes(kLinkMagic)
      .Put(hello.version)
      .Put(hello.is_new)
      .Bytes(hello.session)
      .Put(hello.run)
      .Put(hello.round)
      .Put(hello.received)
      .Text<uint8_t>(hello.job)
      .Text<uint8_t>(hello.node)
      .Take();
}

absl::StatusOr<std::optional<LinkHello>> TakeHello(std::string_view& bytes) {
  const std::string_view magic = bytes.substr(0, kLinkMagic.size());
  if (kLinkMagic.substr(0, magic.size()) != magic) {
    return absl::InvalidArgumentError("it is not an agent's link, and nothing else is served here");
  }
  LittleEndianReader reader(bytes.substr(magic.size()));
  LinkHello hello;
  hello.version = reader.Take<uint8_t>();
  if (reader.is_good() && (hello.version < kFirstLinkVersion || hello.version > kLinkVersion)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the link has version ", static_cast<int>(hello.version), "; versions ", static_cast<int>(kFirstLinkVersion),
        " to ", static_cast<int>(kLinkVersion), " are known here: use the same version of Muster on all nodes"));
  }
  hello.is_new = reader.Take<uint8_t>() != 0;
  hello.session = reader.Bytes(kSessionBytes);
  hello.run = reader.Take<uint64_t>();
  hello.round = reader.Take<uint32_t>();
  hello.received = reader.Take<uint64_t>();
  hello.job = reader.Text<uint8_t>();
  hello.node = reader.Text<uint8_t>();
  if (!reader.is_good()) return std::nullopt;
  bytes = reader.rest();
  return hello;
}

std::string AnswerBytes(const LinkAnswer& answer) {
  const std::string refusal = answer.refusal.substr(0, kMaxRefusalBytes);
  LittleEndianWriter out;
  out.Put(!refusal.empty() ? kRefused : answer.goes_on ? kGoesOn : kUnknown).Put(answer.received);
  if (!refusal.empty()) out.Text<uint16_t>(refusal);
  return out.Take();
}

absl::StatusOr<std::optional<LinkAnswer>> TakeAnswer(std::string_view& bytes) {
  LittleEndianReader reader(bytes);
  const auto code = reader.Take<uint8_t>();
  if (code > kRefused) return absl::InvalidArgumentError("the program that answers is not an agent's store");
  LinkAnswer answer;
  answer.goes_on = code == kGoesOn;
  answer.received = reader.Take<uint64_t>();
  if (code == kRefused) {
    const auto size = reader.Take<uint16_t>();
    if (size > kMaxRefusalBytes || (size == 0 && reader.is_good())) {
      return absl::InvalidArgumentError("the program that answers is not an agent's store");
    }
    answer.refusal = reader.Bytes(size);
  }
  if (!reader.is_good()) return std::nullopt;
  bytes = reader.rest();
  return answer;
}

}  // namespace muster::torch_store
