// What a client is still to be sent. Values are not copied into it, however many clients wait for one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "worker_agent/gateway/torch_store/channel.h"
#include "worker_agent/gateway/torch_store/value.h"

namespace muster::torch_store {

class Output {
 public:
  void Append(std::string_view bytes);
  template <typename Number>
  void AppendNumber(Number number) {
    Append(std::string_view(reinterpret_cast<const char*>(&number), sizeof(number)));
  }
  // Its length in front.
  void AppendText(std::string_view text);
  void AppendValue(const ValuePtr& value);

  bool is_empty() const { return bytes_ == 0; }
  size_t bytes() const { return bytes_; }
  // What it keeps itself, without values.
  size_t own_bytes() const { return own_bytes_; }
  // Until all is written, or it is not Stream::Io::kDone. `scratch`: not empty; what is gathered for one write.
  Stream::Io WriteTo(Channel& channel, std::vector<char>& scratch);

 private:
  // Either text of its own, or a value's.
  struct Piece {
    std::string own;
    ValuePtr value;
    std::string_view text() const { return value != nullptr ? std::string_view(value->text()) : std::string_view(own); }
  };

  std::string_view Gather(std::vector<char>& scratch) const;
  void Drop(size_t bytes);

  std::vector<Piece> pieces_;
  size_t first_ = 0;  // of the pieces that are still to be written, …
  size_t at_ = 0;     // … and where in it
  size_t bytes_ = 0;
  size_t own_bytes_ = 0;
};

}  // namespace muster::torch_store
