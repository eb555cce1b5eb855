#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace predgen {

/// The question put to a model about a draft, for a "yes" or "no" (arXiv 2506.15556, Table 2):
/// whether `answer` fits the user's words so far. A separate chat, without a system message.
std::vector<Message> judge_question(std::string_view words, std::string_view answer);

}  // namespace predgen
