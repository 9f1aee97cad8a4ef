// What the tags on the completion queue of StoreLink point to.
#pragma once

namespace muster::agent {

class LinkTag {
 public:
  virtual ~LinkTag() = default;
  // The link's thread calls it when it takes the tag from the queue.
  virtual void Happened(bool is_ok) = 0;
};

}  // namespace muster::agent
