#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace predgen {

/// Cuts a text (well-formed UTF-8) into parts of at most `max_characters`, none of them empty, that
/// are spoken one after the other: after the last sentence or clause mark that fits, else at the
/// last space, else anywhere. Zonos was trained on clips of up to 30 s, 300 characters take about
/// 20 s.
std::vector<std::string> speech_parts(std::string_view text, int64_t max_characters = 300);

}  // namespace predgen
