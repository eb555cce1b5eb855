#pragma once

#include <string>
#include <vector>

namespace predgen {

/// Answers as assistants give them, and worse. What stands between U+27E6 and U+27E7 (white square
/// brackets) must not be cut; the brackets are no part of the answer.
const std::vector<std::string>& hostile_answers();

}  // namespace predgen
