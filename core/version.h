#pragma once

namespace predgen {

/// Of this program, as in "0.1.0" (CMakeLists.txt).
const char* program_version();

}  // namespace predgen
