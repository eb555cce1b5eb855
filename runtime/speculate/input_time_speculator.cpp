#include "runtime/speculate/input_time_speculator.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "runtime/generate/sampler.h"
#include "runtime/generate/sequence_pass.h"

namespace predgen {

InputTimeSpeculator::InputTimeSpeculator(
    const LanguageModel& model, Verifier& verifier, Generator& generator,
    std::function<int64_t(TokenSpan answer)> first_sentence_length, int64_t cache_capacity)
    : model_(model),
      verifier_(verifier),
      generator_(generator),
      first_sentence_length_(std::move(first_sentence_length)) {
  sequence_.cache = model.make_cache(1, std::min(cache_capacity, model.max_positions()));
}

TokenSpan InputTimeSpeculator::answer() const {
  return TokenSpan(sequence_.tokens).subspan(prompt_length_);
}

bool InputTimeSpeculator::is_current(TokenSpan prompt) const {
  return verified_ && prompt_length_ == prompt.size() &&
         std::ranges::equal(prompt, TokenSpan(sequence_.tokens).first(prompt_length_));
}

int64_t InputTimeSpeculator::replace_prompt(TokenSpan prompt) {
  KvCache& cache = *sequence_.cache;
  if (prompt.empty()) throw UserError("the prompt is empty");
  if (static_cast<int64_t>(prompt.size()) > cache.capacity()) {
    throw UserError("the prompt has {} tokens, but the context holds {}: shorten it", prompt.size(),
                    cache.capacity());
  }
  const int64_t common = std::ranges::mismatch(sequence_.tokens, prompt).in2 - prompt.begin();
  // The last position always runs again: its logits predict the answer's first token.
  const int64_t num_reused =
      std::min({common, cache.length(), static_cast<int64_t>(prompt.size()) - 1});
  cache.truncate(num_reused);
  sequence_.tokens.assign(prompt.begin(), prompt.end());
  prompt_length_ = prompt.size();
  saved_next_.reset();
  return num_reused;
}

SpeculationStep InputTimeSpeculator::update(TokenSpan prompt, std::string_view prompt_text,
                                            const GenerationConfig& config,
                                            const TokenCallback& on_tokens, int64_t max_added) {
  PREDGEN_CHECK(config.max_new_tokens >= 1, "an answer of {} tokens", config.max_new_tokens);
  PREDGEN_CHECK(max_added >= 1, "an answer that grows by {} tokens", max_added);
  SpeculationStep step;
  TokenIds guess;
  if (is_current(prompt) && (!answer().empty() || saved_next_)) {
    reuse(config, step);
  } else {
    guess = verify(prompt, prompt_text, config, step);
  }

  const bool wanted = !on_tokens || on_tokens(answer());
  if (contains(config.stop_tokens, sequence_.tokens.back())) {
    step.generation.stop_reason = StopReason::kStopToken;
    return step;
  }
  if (!wanted) {
    step.generation.stop_reason = StopReason::kCancelled;
    return step;
  }
  GenerationConfig rest = config;
  const auto length = static_cast<int64_t>(answer().size());
  rest.max_new_tokens =
      std::min(config.max_new_tokens - length, max_added - (length - step.num_accepted));
  step.generation = generator_.generate(sequence_, guess, rest, [&](TokenSpan tokens) {
    ++num_forward_passes_;
    return !on_tokens || on_tokens(tokens);
  });
  step.num_forward_passes += step.generation.num_forward_passes;
  return step;
}

void InputTimeSpeculator::reuse(const GenerationConfig& config, SpeculationStep& step) {
  step.num_reused = static_cast<int64_t>(prompt_length_);
  step.num_drafted = static_cast<int64_t>(answer().size());
  step.num_accepted = std::min(step.num_drafted, config.max_new_tokens);
  if (step.num_drafted == 0) {
    sequence_.tokens.push_back(*std::exchange(saved_next_, {}));
  } else {
    sequence_.tokens.resize(prompt_length_ + static_cast<size_t>(step.num_accepted));
    leave_last_pending();
  }
}

TokenIds InputTimeSpeculator::verify(TokenSpan prompt, std::string_view prompt_text,
                                     const GenerationConfig& config, SpeculationStep& step) {
  TokenIds draft(answer().begin(), answer().end());
  step.num_reused = replace_prompt(prompt);
  const size_t room = static_cast<size_t>(sequence_.cache->capacity()) - prompt.size();
  draft.resize(std::min({draft.size(), room, static_cast<size_t>(config.max_new_tokens)}));
  const auto num_drafted = static_cast<int64_t>(draft.size());
  step.num_drafted = num_drafted;
  at::Tensor logits_NV;
  try {
    logits_NV = run_pending(model_, sequence_, draft);
    ++num_forward_passes_;
    ++step.num_forward_passes;
    if (num_drafted > 0) {
      step.num_accepted =
          verifier_.count_accepted({.tokens = draft,
                                    .logits_DV = logits_NV.narrow(0, 0, num_drafted),
                                    .first_sentence = first_sentence_length_(draft),
                                    .stop_tokens = config.stop_tokens,
                                    .prompt_text = prompt_text});
    }
  } catch (...) {  // the draft remains one, for the next update to verify
    sequence_.tokens.insert(sequence_.tokens.end(), draft.begin(), draft.end());
    verified_ = false;
    throw;
  }
  verified_ = true;
  const auto accepted = TokenSpan(draft).first(static_cast<size_t>(step.num_accepted));
  sequence_.tokens.insert(sequence_.tokens.end(), accepted.begin(), accepted.end());
  TokenIds guess;
  const bool ended = !accepted.empty() && contains(config.stop_tokens, accepted.back());
  if (!ended && step.num_accepted < config.max_new_tokens) {
    // The same pass predicts the token behind the accepted ones; what it says behind the rejected
    // one is the best guess there is.
    guess =
        argmax_rows(logits_NV.narrow(0, step.num_accepted, num_drafted - step.num_accepted + 1));
    sequence_.tokens.push_back(guess.front());
    guess.erase(guess.begin());
  }
  leave_last_pending();
  return guess;
}

void InputTimeSpeculator::leave_last_pending() {
  const auto length = static_cast<int64_t>(sequence_.tokens.size()) - 1;
  sequence_.cache->truncate(std::min(sequence_.cache->length(), length));
}

int64_t InputTimeSpeculator::prefill(TokenSpan prompt) {
  if (is_current(prompt) && saved_next_) return 0;
  replace_prompt(prompt);
  verified_ = true;
  const at::Tensor logits_1V = run_pending(model_, sequence_, {});
  ++num_forward_passes_;
  saved_next_ = argmax_rows(logits_1V).front();
  return 1;
}

void InputTimeSpeculator::reset_answer() {
  if (!verified_) sequence_.tokens.resize(prompt_length_);
  verified_ = true;
  saved_next_.reset();
  prompt_length_ = sequence_.tokens.size();
}

}  // namespace predgen
