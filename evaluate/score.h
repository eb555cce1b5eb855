#pragma once

#include <ATen/ATen.h>

#include <stop_token>
#include <vector>

#include "model/language_model.h"
#include "text/token_ids.h"

namespace predgen::evaluate {

/// Sum of ln p(token | everything before it), in nats, over `answer` after `prompt`; both not
/// empty.
double sum_logprobs(const LanguageModel& model, TokenSpan prompt, TokenSpan answer);

/// By how much the likeliest token after `prompt` and `answer` exceeds the next one, in logits, as
/// in plain decoding: a pass over the prompt, then one for each token of the answer.
double top2_margin(const LanguageModel& model, TokenSpan prompt, TokenSpan answer);

struct RowScore {
  std::vector<double> logprobs;  // of tokens 1..T-1, each given those before it, in nats
  at::Tensor logits_TV;          // only if asked for
};
enum class KeepLogits { kNo, kYes };

/// Runs `tokens` in pieces: the logits of a long row would not fit into memory at once. Error if
/// the model computes NaN. Interrupted after a stop.
RowScore score_row(const LanguageModel& model, TokenSpan tokens, KeepLogits keep,
                   const std::stop_token& stop);

/// Over all rows; NaN if no row has two tokens.
double perplexity(const std::vector<RowScore>& rows);

}  // namespace predgen::evaluate
