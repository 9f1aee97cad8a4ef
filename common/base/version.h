#pragma once

namespace muster {

inline constexpr char kVersion[] = "0.2.0";

}  // namespace muster
