#pragma once

namespace muster {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace muster
