#include "common/tls/material/secret.h"

#include <openssl/crypto.h>

namespace muster {

void Wipe(std::string& text) {
  // A short text lives inside the object, a long one elsewhere: data() is either.
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
