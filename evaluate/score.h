#pragma once

#include "model/language_model.h"
#include "text/token_ids.h"

namespace predgen::evaluate {

/// Sum of ln p(token | everything before it), in nats, over `answer` after `prompt`; both not
/// empty.
double sum_logprobs(const LanguageModel& model, TokenSpan prompt, TokenSpan answer);

/// By how much the likeliest token after `prompt` and `answer` is above the next one, in logits, as
/// plain decoding sees it: a pass over the prompt, then one for each token of the answer.
double top2_margin(const LanguageModel& model, TokenSpan prompt, TokenSpan answer);

}  // namespace predgen::evaluate
