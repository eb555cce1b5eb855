#include "hear/transcripts/typed_source.h"

#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace predgen {
namespace {

bool is_space(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == '\v' ||
         byte == '\f';
}

}  // namespace

std::vector<Transcript> type_text(const std::string& text, double characters_per_minute,
                                  Seconds start) {
  if (!(characters_per_minute > 0) || !std::isfinite(characters_per_minute)) {
    throw UserError("the typing rate is {} characters a minute, but must be positive",
                    characters_per_minute);
  }
  std::vector<Transcript> transcripts;
  const auto add = [&](std::string so_far, int64_t num_characters, bool is_final) {
    const Seconds time(60.0 * static_cast<double>(num_characters) / characters_per_minute);
    transcripts.push_back({.text = std::move(so_far),
                           .revision = static_cast<int64_t>(transcripts.size()) + 1,
                           .time = start + time,
                           .is_final = is_final});
  };
  int64_t num_characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i])) ++num_characters;
    if (i > 0 && is_space(text[i]) && !is_space(text[i - 1])) {
      add(text.substr(0, i), num_characters, false);
    }
  }
  add(text, num_characters, true);
  return transcripts;
}

}  // namespace predgen
