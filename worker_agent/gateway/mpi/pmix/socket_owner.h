// Whose socket the other end of a connection on this machine is.
#pragma once

namespace muster::pmix {

// Whether it is connected and this user's. False also where nobody has it any more, and where it can't be looked at.
bool IsOtherEndOwn(int connection);

}  // namespace muster::pmix
