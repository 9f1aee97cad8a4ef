#include "worker_agent/keeper/files/error_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/base/limits.h"
#include "common/base/unique_fd.h"
#include "worker_agent/keeper/text.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxFileBytes = 64 * 1024;
constexpr size_t kMaxDepth = 64;

// Parses event by event, not into a document: our read limit may cut a long call stack, and the message before it must
// still be found.
class MessageFinder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool string(string_t& value) override {
    const bool is_outer = path_.size() == 1 && path_[0] == "message";
    const bool is_inner = path_.size() == 2 && path_[0] == "message" && path_[1] == "message";
    if (is_outer || is_inner) message_ = value;
    return true;
  }
  bool start_object(std::size_t) override { return Enter(); }
  bool end_object() override { return Leave(); }
  bool start_array(std::size_t) override { return Enter(); }
  bool end_array() override { return Leave(); }
  bool key(string_t& name) override {
    path_.back() = name;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

  const std::string& message() const { return message_; }

 private:
  bool Enter() {
    path_.emplace_back();
    return path_.size() <= kMaxDepth;
  }
  bool Leave() {
    path_.pop_back();
    return true;
  }

  std::vector<std::string> path_;  // the keys from the root to the current place
  std::string message_;
};

}  // namespace

std::string ParseErrorFile(std::string_view text) {
  MessageFinder finder;
  nlohmann::json::sax_parse(text.begin(), text.end(), &finder);
  return CleanText(finder.message(), kMaxErrorMessageBytes, true);
}

std::string ReadErrorFile(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
  struct stat info {};
  if (!fd.is_open() || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  std::string text(kMaxFileBytes, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = ::read(fd.get(), text.data() + size, text.size() - size);
    if (n == 0 || (n < 0 && errno != EINTR)) break;
    if (n > 0) size += static_cast<size_t>(n);
  }
  text.resize(size);
  return ParseErrorFile(text);
}

}  // namespace muster::agent
