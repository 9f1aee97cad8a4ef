// The bytes that must still be sent to a client. A value is shared and not copied, even if many clients wait for it.
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
  // Appends the text's length, then the text.
  void AppendText(std::string_view text);
  void AppendValue(const ValuePtr& value);

  bool is_empty() const { return bytes_ == 0; }
  size_t bytes() const { return bytes_; }
  // Returns the memory of this object itself, without the values that it shares.
  size_t own_bytes() const { return own_bytes_; }
  // Writes until all is written, or until a write returns anything but Stream::Io::kDone. `scratch` must not be empty;
  // it takes the joined pieces of one write.
  Stream::Io WriteTo(Channel& channel, std::vector<char>& scratch);

 private:
  // Has either a text of its own or a shared value.
  struct Piece {
    std::string own;
    ValuePtr value;
    std::string_view text() const { return value != nullptr ? std::string_view(value->text()) : std::string_view(own); }
  };

  std::string_view Gather(std::vector<char>& scratch) const;
  void Drop(size_t bytes);

  std::vector<Piece> pieces_;
  size_t first_ = 0;  // the first piece that is not written completely
  size_t at_ = 0;     // the position in that piece of the next byte
  size_t bytes_ = 0;
  size_t own_bytes_ = 0;
};

}  // namespace muster::torch_store
