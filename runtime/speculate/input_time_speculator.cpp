#include "runtime/speculate/input_time_speculator.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "runtime/generate/choices.h"
#include "runtime/generate/masked_draft.h"
#include "text/stop_tokens.h"

namespace predgen {
namespace {

constexpr int64_t kMostMasks = 16;  // beside what is verified, in one pass

}  // namespace

void SpeculationConfig::validate() const {
  check_at_least(1, num_candidates, "candidates");
  check_at_least(1, tree_tokens, "tree_tokens");
  check_at_least(0, other_tokens, "other_tokens");
  check_at_least(0, num_branches, "branches");
  if (num_branches > 0 && num_candidates < 2) {
    throw UserError("branches are verified as candidates: set candidates to more than {}",
                    num_candidates);
  }
}

InputTimeSpeculator::InputTimeSpeculator(Engine& engine, Verifier& verifier, Generator& generator,
                                         int64_t capacity, const SpeculationConfig& config)
    : engine_(engine),
      config_(config),
      verifier_(&verifier),
      generator_(&generator),
      sequence_(engine.make_sequence(capacity)),
      branches_(config.num_branches),
      candidates_(std::max<int64_t>(config.num_candidates - 1, 1)) {
  config.validate();
}

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
    throw PromptTooLong("the prompt has {} tokens, but the context holds {}: shorten it",
                        prompt.size(), context_length());
  }
  // The last position always runs again: its logits predict the answer's first token.
  const int64_t num_reused = sequence_.replace(prompt);
  prompt_length_ = prompt.size();
  branches_.clear();
  saved_logits_1V_.reset();
  return num_reused;
}

SpeculationStep InputTimeSpeculator::update(TokenSpan prompt, std::string_view prompt_text,
                                            GenerationConfig config, const TokenCallback& on_tokens,
                                            const SpeculationLimits& limits,
                                            const PromptReader& reader) {
  config.answer_begin = std::ssize(prompt);
  PREDGEN_CHECK(config.max_new_tokens >= 1, "an answer of {} tokens", config.max_new_tokens);
  PREDGEN_CHECK(limits.max_added >= 1, "an answer that grows by {} tokens", limits.max_added);
  SpeculationStep step;
  std::optional<TokenIds> guess = TokenIds();
  if (is_current(prompt) && (!answer().empty() || saved_logits_1V_)) {
    reuse(config, step);
  } else {
    guess = verify(prompt, prompt_text, config, limits.first_sentence, reader, step);
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
  const Guess known{.next = *guess, .drafts = candidates_.newest_first()};
  step.generation = generator_->generate(sequence_, known, rest, [&](TokenSpan tokens) {
    ++num_forward_passes_;
    return !on_tokens || on_tokens(tokens);
  });
  step.num_forward_passes += step.generation.num_forward_passes;
  return step;
}

void InputTimeSpeculator::reuse(const GenerationConfig& config, SpeculationStep& step) {
  step.num_reused = static_cast<int64_t>(prompt_length_);
  step.num_drafted = static_cast<int64_t>(answer().size());
  step.num_agreed = step.num_accepted = std::min(step.num_drafted, config.max_new_tokens);
  if (step.num_drafted == 0) {
    const at::Tensor logits_1V = *std::exchange(saved_logits_1V_, {});
    sequence_.append(Choices(config, logits_1V, sequence_.tokens(), {}).found({}));
  } else {
    sequence_.truncate(step.num_reused + step.num_accepted);
  }
}

std::vector<std::optional<at::Tensor>> InputTimeSpeculator::run(
    const EngineRequest& draft, std::optional<EngineRequest> question,
    const GenerationConfig& config) {
  std::vector<EngineRequest> requests{draft};
  if (question) requests.push_back(*std::move(question));
  for (EngineRequest& request : requests) {
    request.priority = config.priority;
    request.should_stop = config.should_stop;
  }
  std::vector<EngineResult> results = engine_.run(requests);
  // They share passes if these have room, so the longer one's passes are about all of them.
  num_forward_passes_ +=
      std::ranges::max(results, {}, &EngineResult::num_forward_passes).num_forward_passes;
  std::vector<std::optional<at::Tensor>> logits;
  for (EngineResult& result : results) logits.push_back(std::move(result.logits));
  return logits;
}

std::optional<TokenIds> InputTimeSpeculator::verify(TokenSpan prompt, std::string_view prompt_text,
                                                    const GenerationConfig& config,
                                                    int64_t first_sentence,
                                                    const PromptReader& reader,
                                                    SpeculationStep& step) {
  TokenIds draft(answer().begin(), answer().end());
  step.num_reused = replace_prompt(prompt);
  const int64_t room = context_length() - static_cast<int64_t>(prompt.size());
  draft.resize(std::min(draft.size(), static_cast<size_t>(std::min(room, config.max_new_tokens))));
  const auto num_drafted = static_cast<int64_t>(draft.size());
  step.num_drafted = num_drafted;
  const int64_t passes_before = num_forward_passes_;
  const TokenTree tree = make_tree(draft, config.max_new_tokens);
  // The draft's tokens come first in the tree.
  std::vector<int64_t> whole(draft.size());
  std::iota(whole.begin(), whole.end(), 0);
  const MaskedDraft masked(tree, whole, engine_.model().mask_tokens(),
                           room_for_masks(num_drafted, tree));
  std::vector<std::optional<at::Tensor>> logits;
  at::Tensor tree_rows_NV;
  std::optional<Choices> choices;
  // The draft stays a draft, for the next update to verify.
  const auto leave_unverified = [&] {
    sequence_.truncate(static_cast<int64_t>(prompt_length_));
    sequence_.append(draft);
    verified_ = false;
    step.num_forward_passes = num_forward_passes_ - passes_before;
  };
  try {
    const Draft offered{.tokens = draft,
                        .first_sentence = std::min(first_sentence, num_drafted),
                        .stop_tokens = config.stop_tokens,
                        .prompt_text = prompt_text};
    std::optional<EngineRequest> question;
    if (num_drafted > 0 && !config.sampler) question = verifier_->ask(offered, sequence_);
    const int64_t num_read = reader.read ? std::ssize(prompt) - reader.num_tokens : 0;
    logits = run({.sequence = &sequence_,
                  .draft = masked.tokens(),
                  .tree_GG = masked.sees_DD(),
                  .num_masks = masked.num_masks(),
                  .num_logits = num_read + 1},
                 std::move(question), config);
    if (logits.front()) {
      at::Tensor& rows_NV = *logits.front();
      const int64_t num_rows = 1 + std::ssize(masked.tokens());
      const int64_t before = rows_NV.size(0) - num_rows;
      if (num_read > 0 && before >= num_read) reader.read(rows_NV[before - num_read]);
      rows_NV = rows_NV.narrow(0, before, num_rows);
      tree_rows_NV = rows_NV.narrow(0, 0, 1 + tree.size());
      choices.emplace(config, tree_rows_NV, prompt, tree);
    }
    if (choices && num_drafted > 0 && !config.sampler) {
      DraftLogits said{.logits_DV = logits.front()->narrow(0, 0, num_drafted),
                       .most_likely = choices->most_likely()};
      if (logits.size() > 1) said.reply_QV = logits.back();
      step.num_agreed = verifier_->verify(offered, said);
    }
  } catch (...) {
    leave_unverified();
    throw;
  }
  if (!choices) {
    leave_unverified();
    return std::nullopt;
  }
  step.num_forward_passes = num_forward_passes_ - passes_before;
  verified_ = true;
  // The part of the draft that the verifier keeps continues along a candidate, unless a candidate
  // alone is right for longer.
  std::vector<int64_t> path = choices->follow();
  if (step.num_agreed > 0) {
    std::vector<int64_t> agreed = choices->follow({whole.begin(), whole.begin() + step.num_agreed});
    if (agreed.size() >= path.size()) path = std::move(agreed);
  }
  step.num_accepted = std::ssize(path);
  if (masked.sees_DD().defined()) sequence_.keep_path(path);  // else it is already in place
  TokenIds answered = choices->found(path);
  TokenIds guess = masked.guess_behind(path, *logits.front());
  // Otherwise the likeliest tokens are worth using, but not a draw of each.
  if (guess.empty() && !config.sampler) guess = choices->guess_after(path, whole);
  const bool ended =
      path.size() > 0 && is_stop_token(config.stop_tokens, answered[path.size() - 1]);
  if (ended || step.num_accepted == config.max_new_tokens) answered.pop_back();
  sequence_.append(answered);
  if (!draft.empty()) candidates_.add(std::move(draft));
  return guess;
}

int64_t InputTimeSpeculator::room_for_masks(int64_t num_drafted, const TokenTree& tree) const {
  return std::min({kMostMasks, config_.other_tokens - (tree.size() - num_drafted),
                   context_length() - static_cast<int64_t>(prompt_length_) - tree.size()});
}

TokenTree InputTimeSpeculator::make_tree(TokenSpan draft, int64_t max_tokens) const {
  TokenTree tree;
  tree.add(draft);
  const int64_t others = std::min(config_.other_tokens, config_.tree_tokens - std::ssize(draft));
  const int64_t room = std::min(std::ssize(draft) + std::max<int64_t>(others, 0),
                                context_length() - static_cast<int64_t>(prompt_length_));
  for (int64_t i = 0; i < config_.num_candidates - 1; ++i) {
    if (i == std::ssize(candidates_.newest_first())) break;
    const TokenSpan candidate = candidates_.newest_first()[static_cast<size_t>(i)];
    const auto length = static_cast<size_t>(std::min(std::ssize(candidate), max_tokens));
    tree.add(candidate.first(length), room);
  }
  return tree;
}

int64_t InputTimeSpeculator::branch(GenerationConfig config, const FollowAnswer& follow) {
  if (!verified_ || config_.num_branches == 0) return 0;
  config.answer_begin = static_cast<int64_t>(prompt_length_);
  const int64_t passes_before = branches_.num_forward_passes();
  const int64_t num_tokens = branches_.grow(engine_, sequence_, config, follow);
  num_forward_passes_ += branches_.num_forward_passes() - passes_before;
  if (num_tokens == 0) return 0;
  const std::vector<TokenIds>& answers = branches_.answers();
  for (size_t i = answers.size(); i-- > 0;) candidates_.add(answers[i]);  // the likeliest last
  return num_tokens;
}

int64_t InputTimeSpeculator::prefill(TokenSpan prompt, const GenerationConfig& config) {
  if (is_current(prompt) && saved_logits_1V_) return 0;
  const int64_t passes_before = num_forward_passes_;
  replace_prompt(prompt);
  verified_ = true;
  if (const auto logits_1V = run({.sequence = &sequence_}, std::nullopt, config).front()) {
    saved_logits_1V_ = logits_1V;
  }
  return num_forward_passes_ - passes_before;
}

void InputTimeSpeculator::reset_answer() {
  if (!verified_) sequence_.truncate(static_cast<int64_t>(prompt_length_));
  verified_ = true;
  branches_.clear();
  candidates_.clear();
  saved_logits_1V_.reset();
  prompt_length_ = sequence_.tokens().size();
}

void InputTimeSpeculator::roll_back(int64_t num_tokens) {
  sequence_.truncate(std::min(num_tokens, sequence_.size()));
  prompt_length_ = sequence_.tokens().size();
  reset_answer();
}

}  // namespace predgen
