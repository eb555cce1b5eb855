#pragma once

#include <string>
#include <vector>

#include "hear/transcripts/transcript_source.h"

namespace predgen {

/// What a person typing `text` at a steady rate has sent, and when: character n comes 60 n /
/// rate seconds after `start`. A word is withheld until white space follows it; the whole text
/// is final, with its last character. For a ScheduledSource. UserError if the rate is not
/// positive.
std::vector<Transcript> type_text(const std::string& text, double characters_per_minute,
                                  Seconds start = Seconds(0));

}  // namespace predgen
