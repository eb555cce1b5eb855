#pragma once

#include "core/json.h"
#include "text/grammar/answer_form.h"
#include "text/grammar/call_grammar.h"

namespace predgen {

/// An answer as messages with channels (ChannelParser), as a format of XGrammar's structural tags:
/// thoughts, then what is said, in `form` if there is one, or one call, which ends the answer.
/// Where calls are free, text may come before one.
Json channel_format(const AnswerRules& rules, const ArgumentsOf& arguments, const Json& form);

}  // namespace predgen
