#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "text/tokenizer.h"

namespace predgen::serve {

/// A message's content: a text, or a list of texts and of parts of the types text, input_text,
/// output_text and refusal. Parts of the types thinking and reasoning go to `thought`, if it is
/// given. ApiError names `where` for others, which the model could not see.
std::string read_content(const Json& content, const std::string& where,
                         std::string* thought = nullptr);

/// The field `messages` of a chat. An assistant's message may have no content: its answer was
/// interrupted, or it was a call.
std::vector<Message> read_messages(const Json& list);

}  // namespace predgen::serve
