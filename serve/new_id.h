#pragma once

#include <string>
#include <string_view>

namespace predgen::serve {

/// The prefix and random hexadecimal digits.
std::string new_id(std::string_view prefix);

}  // namespace predgen::serve
