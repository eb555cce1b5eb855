#pragma once

#include "data/conversation.h"

namespace predgen::data {

/// One row of JSON a line, as Python writes it: NaN and Infinity are read as null, and a row with
/// half a surrogate pair gets a fault. UserError for a file that is not UTF-8.
std::unique_ptr<ConversationReader> open_jsonl(const std::filesystem::path& file, BadRows bad_rows);

}  // namespace predgen::data
