#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace predgen {

/// The codes of the languages that Zonos has an id for: the index is the id.
const std::vector<std::string>& zonos_languages();

/// UserError with the nearest code if `language` has none. Upper and lower case differ.
int64_t language_id(const std::string& language);

}  // namespace predgen
