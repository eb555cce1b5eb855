#include "runtime/speculate/input_time_speculator.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "runtime/generate/choices.h"
#include "runtime/generate/sequence_pass.h"
#include "runtime/speculate/draft_tree.h"
#include "text/token_ids.h"

namespace predgen {
namespace {

constexpr int64_t kWidestPart = 16;

TokenIds joined(TokenIds tokens, TokenSpan more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

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
      width_(config.in_parts && !config.costs.is_flat()
                 ? std::optional(DraftWidth(
                       kWidestPart, {.costs = config.costs, .reruns = engine.reruns_drafts()}))
                 : std::nullopt),
      branches_(config.num_branches),
      candidates_(std::max<int64_t>(config.num_candidates - 1, 1)) {
  config.validate();
}

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
  rest_.clear();
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
    guess = verify(prompt, prompt_text, config, limits, reader, step);
  }
  if (!guess) {
    step.generation.stop_reason = StopReason::kCancelled;
    return step;
  }

  std::optional<TokenIds> found(std::in_place, answer().begin(), answer().end());
  for (;;) {
    const bool wanted = found && (!on_tokens || on_tokens(*found));
    if (found && is_stop_token(config.stop_tokens, sequence_.tokens().back())) {
      step.generation.stop_reason = StopReason::kStopToken;
      return step;
    }
    const bool has_rest = !rest_.empty() && std::ssize(answer()) < config.max_new_tokens;
    if (!wanted || (has_rest && config.should_stop && config.should_stop())) {
      step.generation.stop_reason = StopReason::kCancelled;
      return step;
    }
    if (!has_rest) break;
    found = verify_part(config, step, *guess);
  }
  rest_.clear();
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
  const auto length = std::ssize(answer());
  step.num_drafted = length + std::ssize(rest_);
  step.num_agreed = step.num_accepted = std::min(length, config.max_new_tokens);
  if (length == 0) {
    const at::Tensor logits_1V = *std::exchange(saved_logits_1V_, {});
    const TokenIds found = Choices(config, logits_1V, sequence_.tokens(), {}).found({});
    if (found.front() == kNoToken) config.constraint->fail_at_dead_end(0);
    sequence_.append(found);
  } else {
    sequence_.truncate(step.num_reused + step.num_accepted);
  }
}

std::optional<TokenIds> InputTimeSpeculator::verify(TokenSpan prompt, std::string_view prompt_text,
                                                    const GenerationConfig& config,
                                                    const SpeculationLimits& limits,
                                                    const PromptReader& reader,
                                                    SpeculationStep& step) {
  TokenIds whole = joined({answer().begin(), answer().end()}, rest_);
  step.num_reused = replace_prompt(prompt);
  const int64_t room = context_length() - static_cast<int64_t>(prompt.size());
  whole.resize(std::min(whole.size(), static_cast<size_t>(std::min(room, config.max_new_tokens))));
  step.num_drafted = std::ssize(whole);
  AnswerConstraint::PlacePtr start;
  if (config.constraint) start = config.constraint->after({});
  whole.resize(allowed_start(whole, config, start).size());
  const bool in_parts = width_ && (config.sampler || verifier_->is_exact());
  const TokenSpan draft = in_parts ? next_part(whole, config.max_new_tokens) : whole;
  const auto num_drafted = std::ssize(draft);
  const int64_t passes_before = num_forward_passes_;
  DraftTree tree(draft, config);
  const std::span<const TokenIds> others = candidates_.newest_first();
  const auto num_others = std::min(std::ssize(others), config_.num_candidates - 1);
  const bool is_part = draft.size() < whole.size();
  tree.add_others(others.first(static_cast<size_t>(num_others)), engine_.model().mask_tokens(),
                  {.forced = is_part ? 0 : std::min(limits.max_added - 1, room - num_drafted),
                   .answers = std::min(config_.other_tokens, config_.tree_tokens - num_drafted),
                   .others = config_.other_tokens,
                   .all = room});
  // The draft stays a draft, for the next update to verify.
  const auto leave_unverified = [&] {
    sequence_.truncate(static_cast<int64_t>(prompt_length_));
    sequence_.append(whole);
    verified_ = false;
    step.num_forward_passes = num_forward_passes_ - passes_before;
  };
  try {
    const Draft offered{.tokens = draft,
                        .first_sentence = std::min(limits.first_sentence, num_drafted),
                        .stop_tokens = config.stop_tokens,
                        .prompt_text = prompt_text};
    const bool asks = num_drafted > 0 && !config.sampler;
    std::optional<EngineRequest> question;
    if (asks) question = verifier_->ask(offered, sequence_);
    const int64_t num_read = reader.read ? std::ssize(prompt) - reader.num_tokens : 0;
    const auto logits = run({.sequence = &sequence_,
                             .draft = tree.tokens(),
                             .tree_GG = tree.sees_DD(),
                             .num_masks = tree.num_masks(),
                             .num_logits = num_read + 1},
                            std::move(question), config);
    if (!logits.front()) {
      leave_unverified();
      return std::nullopt;
    }
    const at::Tensor& rows_NV = *logits.front();
    const int64_t num_rows = 1 + std::ssize(tree.tokens());
    const int64_t before = rows_NV.size(0) - num_rows;
    if (num_read > 0 && before >= num_read) reader.read(rows_NV[before - num_read]);
    tree.read(rows_NV.narrow(0, before, num_rows), prompt);
    if (asks) {
      DraftLogits said = tree.about_draft(verifier_->is_exact());
      if (logits.size() > 1) said.reply_QV = logits.back();
      step.num_agreed = verifier_->verify(offered, said);
    }
  } catch (...) {
    leave_unverified();
    throw;
  }
  verified_ = true;
  const std::vector<int64_t> path = tree.right(step.num_agreed);
  if (tree.sees_DD().defined()) sequence_.keep_path(path);  // else it is already in place
  if (in_parts && !whole.empty()) width_->record(tree.num_drafted(), tree.num_right(path));
  TokenIds guess = tree.guess_behind(path);
  extend(tree.found(path), std::ssize(path), whole, config, step);
  step.num_accepted -= tree.num_forced(path);
  step.num_forward_passes = num_forward_passes_ - passes_before;
  if (!whole.empty()) candidates_.add(std::move(whole));
  return guess;
}

std::optional<TokenIds> InputTimeSpeculator::verify_part(const GenerationConfig& config,
                                                         SpeculationStep& step, TokenIds& guess) {
  const auto length = std::ssize(answer());
  DraftTree tree(next_part(rest_, config.max_new_tokens - length), config);
  const int64_t passes_before = num_forward_passes_;
  const auto logits =
      run({.sequence = &sequence_, .draft = tree.tokens()}, std::nullopt, config).front();
  step.num_forward_passes += num_forward_passes_ - passes_before;
  if (!logits) return std::nullopt;
  tree.read(*logits, sequence_.tokens());
  const std::vector<int64_t> path = tree.right(/*num_agreed=*/0);
  width_->record(tree.num_drafted(), tree.num_right(path));
  guess = tree.guess_behind(path);
  extend(tree.found(path), std::ssize(path), rest_, config, step);
  if (!config.sampler) step.num_agreed = step.num_accepted;
  return TokenIds(answer().begin() + length, answer().end());
}

void InputTimeSpeculator::extend(TokenIds found, int64_t num_kept, TokenSpan draft,
                                 const GenerationConfig& config, SpeculationStep& step) {
  const bool ended =
      num_kept > 0 && is_stop_token(config.stop_tokens, found[static_cast<size_t>(num_kept) - 1]);
  const bool is_dead_end = found.back() == kNoToken;
  if (ended || is_dead_end || std::ssize(answer()) + num_kept == config.max_new_tokens) {
    found.pop_back();
  }
  // Behind other tokens it is an error if the generator goes on from there.
  if (is_dead_end && found.empty() && answer().empty()) config.constraint->fail_at_dead_end(0);
  sequence_.append(found);
  const bool follows =
      found.size() <= draft.size() && std::ranges::equal(found, draft.first(found.size()));
  step.num_accepted += follows ? std::ssize(found) : num_kept;
  const TokenSpan rest = follows ? draft.subspan(found.size()) : TokenSpan();
  rest_ = TokenIds(rest.begin(), rest.end());
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

SetAside InputTimeSpeculator::exchange(SetAside other, TokenSpan prompt) {
  const TokenSpan old = sequence_.tokens().first(prompt_length_), drafted = answer();
  SetAside now{.prompt = {old.begin(), old.end()},
               .answer = {drafted.begin(), drafted.end()},
               .rest = rest_,
               .is_verified = verified_,
               .candidates = candidates_.newest_first()};
  reset_answer();
  TokenIds& rest = other.rest;
  verified_ = other.is_verified && std::ranges::equal(prompt, other.prompt);
  if (verified_) {
    sequence_.replace(joined(std::move(other.prompt), other.answer));
    prompt_length_ = prompt.size();
  } else {
    rest = joined(std::move(other.answer), rest);
  }
  rest_ = std::move(rest);
  for (size_t i = other.candidates.size(); i-- > 0;) candidates_.add(other.candidates[i]);
  return now;
}

void InputTimeSpeculator::reset_answer() {
  if (!verified_) sequence_.truncate(static_cast<int64_t>(prompt_length_));
  verified_ = true;
  rest_.clear();
  branches_.clear();
  candidates_.clear();
  saved_logits_1V_.reset();
  prompt_length_ = sequence_.tokens().size();
}

}  // namespace predgen
