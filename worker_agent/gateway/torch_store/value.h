// A value of the store. Output that is still to be sent shares it, so that the store may replace it in the meantime.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace muster::torch_store {

class Value {
 public:
  // `alive` counts the bytes of all existing values; it must outlive this.
  Value(std::string text, size_t& alive) : text_(std::move(text)), alive_(alive) { alive_ += text_.size(); }
  ~Value() { alive_ -= text_.size(); }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;

  const std::string& text() const { return text_; }
  void Append(const std::string& more) {
    text_ += more;
    alive_ += more.size();
  }

 private:
  std::string text_;
  size_t& alive_;
};

using ValuePtr = std::shared_ptr<const Value>;

}  // namespace muster::torch_store
