// The tags on the link's completion queue.
#pragma once

namespace muster::agent {

class LinkTag {
 public:
  virtual ~LinkTag() = default;
  // Called by the link's thread, once for each time the tag was put on the queue.
  virtual void Happened(bool is_ok) = 0;
};

}  // namespace muster::agent
