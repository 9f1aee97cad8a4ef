#include "worker_agent/gateway/exec/request.h"

#include "absl/strings/str_cat.h"
#include "common/base/bytes.h"

namespace muster::exec {
namespace {

constexpr std::string_view kMagic = "MUSTREXC";
constexpr uint8_t kVersion = 1;

}  // namespace

absl::StatusOr<std::string> RequestBytes(const Request& request) {
  if (request.words.size() > kMaxWordsBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the command has ", request.words.size(), " bytes; the limit is ", kMaxWordsBytes));
  }
  LittleEndianWriter out;
  out.Bytes(kMagic).Put(kVersion).Put(request.run).Put(request.round);
  for (const std::string* text : {&request.secret, &request.job, &request.from, &request.to}) {
    if (text->size() > kMaxShortBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("a name has ", text->size(), " bytes; the limit is ", kMaxShortBytes));
    }
    out.Text<uint8_t>(*text);
  }
  return out.Text<uint32_t>(request.words).Take();
}

absl::StatusOr<std::optional<Request>> TakeRequest(std::string_view& bytes) {
  const std::string_view magic = bytes.substr(0, kMagic.size());
  if (kMagic.substr(0, magic.size()) != magic) {
    return absl::InvalidArgumentError("it is not a request for a remote command, and nothing else is served here");
  }
  LittleEndianReader reader(bytes.substr(magic.size()));
  const auto version = reader.Take<uint8_t>();
  if (reader.is_good() && version != kVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request has version ", int{version},
                     "; only version 1 is known here: use the same version of Muster on all nodes"));
  }
  Request request;
  request.run = reader.Take<uint64_t>();
  request.round = reader.Take<uint32_t>();
  for (std::string* text : {&request.secret, &request.job, &request.from, &request.to}) *text = reader.Text<uint8_t>();
  const auto size = reader.Take<uint32_t>();
  if (size > kMaxWordsBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the command has ", size, " bytes; the limit is ", kMaxWordsBytes));
  }
  request.words = reader.Bytes(size);
  if (!reader.is_good()) return std::nullopt;
  bytes = reader.rest();
  return request;
}

std::string AnswerBytes(Answer answer) {
  if (answer.text.size() > kMaxAnswerBytes) answer.text.resize(kMaxAnswerBytes);
  return LittleEndianWriter().Put(answer.code).Text<uint16_t>(answer.text).Take();
}

absl::StatusOr<std::optional<Answer>> TakeAnswer(std::string_view& bytes) {
  LittleEndianReader reader(bytes);
  const auto code = reader.Take<uint8_t>();
  if (code > static_cast<uint8_t>(AnswerCode::kUnknown)) {
    return absl::InvalidArgumentError("the program that answers is not an agent");
  }
  const auto size = reader.Take<uint16_t>();
  if (size > kMaxAnswerBytes) return absl::InvalidArgumentError("the program that answers is not an agent");
  Answer answer{static_cast<AnswerCode>(code), std::string(reader.Bytes(size))};
  if (!reader.is_good()) return std::nullopt;
  bytes = reader.rest();
  return answer;
}

}  // namespace muster::exec
