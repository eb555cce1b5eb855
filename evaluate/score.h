#pragma once

#include "model/language_model.h"
#include "text/token_ids.h"

namespace predgen {

/// Sum of ln p(token | everything before it), in nats, over `answer` after `prompt`; both not
/// empty.
double sum_logprobs(const LanguageModel& model, TokenSpan prompt, TokenSpan answer);

}  // namespace predgen
