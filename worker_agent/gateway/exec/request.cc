#include "worker_agent/gateway/exec/request.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace muster::exec {
namespace {

constexpr std::string_view kMagic = "MUSTREXC";
constexpr uint8_t kVersion = 1;

template <typename Number>
void Put(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof(number));
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
    const std::string bytes = TakeBytes(sizeof(number));
    if (!bytes.empty()) std::memcpy(&number, bytes.data(), sizeof(number));
    return number;
  }
  std::string TakeBytes(size_t size) {
    is_short_ = is_short_ || rest_.size() < size;
    if (is_short_) return "";
    const std::string bytes(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return bytes;
  }
  std::string TakeText() { return TakeBytes(Take<uint8_t>()); }

 private:
  std::string_view rest_;
  bool is_short_ = false;
};

}  // namespace

absl::StatusOr<std::string> RequestBytes(const Request& request) {
  if (request.words.size() > kMaxWordsBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the command has ", request.words.size(), " bytes, and at most ",
                                                   kMaxWordsBytes, " are passed on"));
  }
  std::string out(kMagic);
  Put(out, kVersion);
  Put(out, request.run);
  Put(out, request.round);
  for (const std::string* text : {&request.secret, &request.job, &request.from, &request.to}) {
    if (text->size() > kMaxShortBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("a name has ", text->size(), " bytes, and at most ", kMaxShortBytes, " are passed on"));
    }
    Put(out, static_cast<uint8_t>(text->size()));
    out += *text;
  }
  Put(out, static_cast<uint32_t>(request.words.size()));
  return out + request.words;
}

absl::StatusOr<std::optional<Request>> TakeRequest(std::string_view& bytes) {
  const std::string_view magic = bytes.substr(0, kMagic.size());
  if (kMagic.substr(0, magic.size()) != magic) {
    return absl::InvalidArgumentError("it is no request for a remote command, which is all that is served here");
  }
  Reader reader(bytes.substr(magic.size()));
  const auto version = reader.Take<uint8_t>();
  if (!reader.is_short() && version != kVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("a request of version ", int{version}, "; version 1 is known here: use one version of Muster"));
  }
  Request request;
  request.run = reader.Take<uint64_t>();
  request.round = reader.Take<uint32_t>();
  for (std::string* text : {&request.secret, &request.job, &request.from, &request.to}) *text = reader.TakeText();
  const auto size = reader.Take<uint32_t>();
  if (size > kMaxWordsBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the command has ", size, " bytes, and at most ", kMaxWordsBytes, " are passed on"));
  }
  request.words = reader.TakeBytes(size);
  if (reader.is_short()) return std::nullopt;
  bytes = reader.rest();
  return request;
}

std::string AnswerBytes(Answer answer) {
  if (answer.text.size() > kMaxAnswerBytes) answer.text.resize(kMaxAnswerBytes);
  std::string out;
  Put(out, static_cast<uint8_t>(answer.verdict));
  Put(out, static_cast<uint16_t>(answer.text.size()));
  return out + answer.text;
}

absl::StatusOr<std::optional<Answer>> TakeAnswer(std::string_view& bytes) {
  Reader reader(bytes);
  const auto verdict = reader.Take<uint8_t>();
  if (verdict > static_cast<uint8_t>(Verdict::kUnknown)) {
    return absl::InvalidArgumentError("what answers is no agent");
  }
  const auto size = reader.Take<uint16_t>();
  if (size > kMaxAnswerBytes) return absl::InvalidArgumentError("what answers is no agent");
  Answer answer{static_cast<Verdict>(verdict), reader.TakeBytes(size)};
  if (reader.is_short()) return std::nullopt;
  bytes = reader.rest();
  return answer;
}

}  // namespace muster::exec
