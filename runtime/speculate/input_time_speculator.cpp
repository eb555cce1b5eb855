#include "runtime/speculate/input_time_speculator.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "runtime/generate/sampler.h"
#include "runtime/generate/sequence_pass.h"
#include "text/stop_tokens.h"

namespace predgen {

InputTimeSpeculator::InputTimeSpeculator(Engine& engine, Verifier& verifier, Generator& generator,
                                         int64_t capacity)
    : engine_(engine),
      verifier_(&verifier),
      generator_(&generator),
      sequence_(engine.make_sequence(capacity)) {}

void InputTimeSpeculator::use(Verifier& verifier, Generator& generator) {
  verifier_ = &verifier;
  generator_ = &generator;
}

TokenSpan InputTimeSpeculator::answer() const { return sequence_.tokens().subspan(prompt_length_); }

bool InputTimeSpeculator::is_current(TokenSpan prompt) const {
  return verified_ && prompt_length_ == prompt.size() &&
         std::ranges::equal(prompt, sequence_.tokens().first(prompt_length_));
}

int64_t InputTimeSpeculator::replace_prompt(TokenSpan prompt) {
  if (prompt.empty()) throw UserError("the prompt is empty");
  if (static_cast<int64_t>(prompt.size()) > context_length()) {
    throw UserError("the prompt has {} tokens, but the context holds {}: shorten it", prompt.size(),
                    context_length());
  }
  // The last position always runs again: its logits predict the answer's first token.
  const int64_t num_reused = sequence_.replace(prompt);
  prompt_length_ = prompt.size();
  saved_next_.reset();
  return num_reused;
}

SpeculationStep InputTimeSpeculator::update(TokenSpan prompt, std::string_view prompt_text,
                                            const GenerationConfig& config,
                                            const TokenCallback& on_tokens,
                                            const SpeculationLimits& limits) {
  PREDGEN_CHECK(config.max_new_tokens >= 1, "an answer of {} tokens", config.max_new_tokens);
  PREDGEN_CHECK(limits.max_added >= 1, "an answer that grows by {} tokens", limits.max_added);
  SpeculationStep step;
  std::optional<TokenIds> guess = TokenIds();
  if (is_current(prompt) && (!answer().empty() || saved_next_)) {
    reuse(config, step);
  } else {
    guess = verify(prompt, prompt_text, config, limits.first_sentence, step);
  }
  if (!guess) {
    step.generation.stop_reason = StopReason::kCancelled;
    return step;
  }

  const bool wanted = !on_tokens || on_tokens(answer());
  if (is_stop_token(config.stop_tokens, sequence_.tokens().back())) {
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
      std::min(config.max_new_tokens - length, limits.max_added - (length - step.num_accepted));
  step.generation = generator_->generate(sequence_, *guess, rest, [&](TokenSpan tokens) {
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
    const TokenId next = *std::exchange(saved_next_, {});
    sequence_.append({&next, 1});
  } else {
    sequence_.truncate(step.num_reused + step.num_accepted);
  }
}

std::optional<at::Tensor> InputTimeSpeculator::run(TokenSpan draft,
                                                   const GenerationConfig& config) {
  GenerationResult passes;
  const std::optional<at::Tensor> logits_NV = run_draft(engine_, sequence_, draft, config, passes);
  num_forward_passes_ += passes.num_forward_passes;
  return logits_NV;
}

std::optional<TokenIds> InputTimeSpeculator::verify(TokenSpan prompt, std::string_view prompt_text,
                                                    const GenerationConfig& config,
                                                    int64_t first_sentence, SpeculationStep& step) {
  TokenIds draft(answer().begin(), answer().end());
  step.num_reused = replace_prompt(prompt);
  const size_t room = static_cast<size_t>(context_length()) - prompt.size();
  draft.resize(std::min({draft.size(), room, static_cast<size_t>(config.max_new_tokens)}));
  const auto num_drafted = static_cast<int64_t>(draft.size());
  step.num_drafted = num_drafted;
  const int64_t passes_before = num_forward_passes_;
  std::optional<at::Tensor> logits_NV;
  // The draft remains one, for the next update to verify.
  const auto leave_unverified = [&] {
    sequence_.truncate(static_cast<int64_t>(prompt_length_));
    sequence_.append(draft);
    verified_ = false;
    step.num_forward_passes = num_forward_passes_ - passes_before;
  };
  try {
    logits_NV = run(draft, config);
    if (logits_NV && num_drafted > 0) {
      const Verification verification =
          verifier_->verify({.tokens = draft,
                             .logits_DV = logits_NV->narrow(0, 0, num_drafted),
                             .first_sentence = std::min(first_sentence, num_drafted),
                             .stop_tokens = config.stop_tokens},
                            {.prompt_text = prompt_text,
                             .sequence = sequence_,
                             .engine = engine_,
                             .generation = config});
      step.num_accepted = verification.num_accepted;
      num_forward_passes_ += verification.num_forward_passes;
    }
  } catch (...) {
    leave_unverified();
    throw;
  }
  if (!logits_NV) {
    leave_unverified();
    return std::nullopt;
  }
  step.num_forward_passes = num_forward_passes_ - passes_before;
  verified_ = true;
  TokenIds answered(draft.begin(), draft.begin() + step.num_accepted);
  TokenIds guess;
  const bool ended = !answered.empty() && is_stop_token(config.stop_tokens, answered.back());
  if (!ended && step.num_accepted < config.max_new_tokens) {
    // The same pass predicts the token after the accepted ones; what it says after the rejected
    // one is the best guess there is.
    guess =
        argmax_rows(logits_NV->narrow(0, step.num_accepted, num_drafted - step.num_accepted + 1));
    answered.push_back(guess.front());
    guess.erase(guess.begin());
  }
  sequence_.append(answered);
  return guess;
}

int64_t InputTimeSpeculator::prefill(TokenSpan prompt, const GenerationConfig& config) {
  if (is_current(prompt) && saved_next_) return 0;
  const int64_t passes_before = num_forward_passes_;
  replace_prompt(prompt);
  verified_ = true;
  if (const std::optional<at::Tensor> logits_1V = run({}, config)) {
    saved_next_ = argmax_rows(*logits_1V).front();
  }
  return num_forward_passes_ - passes_before;
}

void InputTimeSpeculator::reset_answer() {
  if (!verified_) sequence_.truncate(static_cast<int64_t>(prompt_length_));
  verified_ = true;
  saved_next_.reset();
  prompt_length_ = sequence_.tokens().size();
}

void InputTimeSpeculator::roll_back(int64_t num_tokens) {
  sequence_.truncate(std::min(num_tokens, sequence_.size()));
  prompt_length_ = sequence_.tokens().size();
  reset_answer();
}

}  // namespace predgen
