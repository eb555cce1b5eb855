#pragma once

#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace predgen::cli {

/// A conversation in a file: a JSON list of messages, as `predgen generate --messages` reads it.
struct SavedChat {
  std::string system_prompt;     // empty: none
  std::vector<Message> history;  // questions and answers in turn
};

/// UserError if the file is there already, or cannot be written.
void save_chat(const std::string& file, const SavedChat& chat);

/// UserError unless, after system messages, questions and answers follow in turn, without calls.
SavedChat load_chat(const std::string& file);

}  // namespace predgen::cli
