#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace predgen {

/// What a model is asked about a draft, for it to reply "yes" or "no" (arXiv 2506.15556, Table 2):
/// whether `answer` fits the user's words so far. A chat of its own, without a system message.
std::vector<Message> judge_question(std::string_view words, std::string_view answer);

}  // namespace predgen
