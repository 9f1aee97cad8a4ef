#include "common/tls/material/secret.h"

#include <openssl/crypto.h>

namespace muster {

void Wipe(std::string& text) {
  // resize makes the text as long as its memory, inside the object or outside, so that all of it is overwritten.
  text.resize(text.capacity());
  OPENSSL_cleanse(text.data(), text.size());
  text.clear();
}

Secret::Secret(Secret&& other) noexcept : text_(std::move(other.text_)) { Wipe(other.text_); }

Secret& Secret::operator=(const Secret& other) {
  if (this == &other) return *this;
  Wipe(text_);
  text_ = other.text_;
  return *this;
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this == &other) return *this;
  Wipe(text_);
  text_ = std::move(other.text_);
  Wipe(other.text_);
  return *this;
}

}  // namespace muster
