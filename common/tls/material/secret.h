// Text that must not stay in memory: passwords and private keys.
#pragma once

#include <string>
#include <utility>

namespace muster {

// Overwrites the characters, then empties the text.
void Wipe(std::string& text);

// A text that is wiped when it is destroyed. It can be copied like a string; each copy wipes itself.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  Secret(const Secret& other) = default;
  Secret(Secret&& other) noexcept;
  Secret& operator=(const Secret& other);
  Secret& operator=(Secret&& other) noexcept;
  ~Secret() { Wipe(text_); }

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  std::string text_;
};

}  // namespace muster
