#include <algorithm>
#include <utility>

#include "runtime/generate/choices.h"
#include "runtime/generate/forced_tokens.h"
#include "runtime/generate/masked_draft.h"
#include "runtime/generate/sequence_pass.h"
#include "runtime/speculate/input_time_speculator.h"
#include "text/stop_tokens.h"

// How a speculator verifies the answer to an earlier prompt.
namespace predgen {
namespace {

constexpr int64_t kMostMasks = 16;  // beside what is verified, in one pass

}  // namespace

std::optional<TokenIds> InputTimeSpeculator::verify(TokenSpan prompt, std::string_view prompt_text,
                                                    const GenerationConfig& config,
                                                    const SpeculationLimits& limits,
                                                    const PromptReader& reader,
                                                    SpeculationStep& step) {
  TokenIds whole(answer().begin(), answer().end());
  whole.insert(whole.end(), rest_.begin(), rest_.end());
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
  TokenTree tree;
  const std::vector<int64_t> drafted = tree.add(draft);  // 0, 1, ..
  const int64_t most_forced =
      draft.size() < whole.size() ? 0 : std::min(limits.max_added - 1, room - num_drafted);
  const std::vector<int64_t> passed = add_forced(tree, start, most_forced, config.max_new_tokens);
  const int64_t num_known = tree.size();
  add_candidates(tree, num_drafted, config);
  const MaskedDraft masked(tree, drafted, engine_.model().mask_tokens(),
                           room_for_masks(num_known, tree), passed);
  std::vector<std::optional<at::Tensor>> logits;
  at::Tensor tree_rows_NV;
  std::optional<Choices> choices;
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
      if (!verifier_->is_exact()) said.logits_DV = choices->allowed_logits(num_drafted);
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
  verified_ = true;
  // The part of the draft that the verifier keeps continues along a candidate, unless a candidate
  // alone is right for longer.
  std::vector<int64_t> path = choices->follow();
  if (step.num_agreed > 0) {
    std::vector<int64_t> agreed =
        choices->follow({drafted.begin(), drafted.begin() + step.num_agreed});
    if (agreed.size() >= path.size()) path = std::move(agreed);
  }
  if (masked.sees_DD().defined()) sequence_.keep_path(path);  // else it is already in place
  if (in_parts && !whole.empty()) record(path, drafted);
  const TokenIds found = choices->found(path);
  extend(found, std::ssize(path), whole, config, step);
  step.num_accepted -= std::ranges::count_if(
      path, [&](int64_t token) { return token >= num_drafted && token < num_known; });
  step.num_forward_passes = num_forward_passes_ - passes_before;
  const AnswerConstraint::PlacePtr place = choices->place_after(path, found.back());
  TokenIds guess = masked.guess_behind(path, *logits.front(), place);
  // Otherwise the likeliest tokens are worth using, but not a draw of each.
  if (guess.empty() && !config.sampler) guess = choices->guess_after(path, drafted);
  if (!whole.empty()) candidates_.add(std::move(whole));
  return guess;
}

std::optional<TokenIds> InputTimeSpeculator::verify_part(const GenerationConfig& config,
                                                         SpeculationStep& step, TokenIds& guess) {
  const auto length = std::ssize(answer());
  TokenTree tree;
  const std::vector<int64_t> drafted = tree.add(next_part(rest_, config.max_new_tokens - length));
  const int64_t passes_before = num_forward_passes_;
  const auto logits =
      run({.sequence = &sequence_, .draft = tree.tokens()}, std::nullopt, config).front();
  step.num_forward_passes += num_forward_passes_ - passes_before;
  if (!logits) return std::nullopt;
  const Choices choices(config, *logits, sequence_.tokens(), tree);
  const std::vector<int64_t> path = choices.follow();
  record(path, drafted);
  guess = config.sampler ? TokenIds() : choices.guess_after(path, drafted);
  extend(choices.found(path), std::ssize(path), rest_, config, step);
  if (!config.sampler) step.num_agreed = step.num_accepted;
  return TokenIds(answer().begin() + length, answer().end());
}

TokenSpan InputTimeSpeculator::next_part(TokenSpan draft, int64_t max_tokens) const {
  return draft.first(
      static_cast<size_t>(std::min({std::ssize(draft), width_->best(), max_tokens})));
}

void InputTimeSpeculator::record(const std::vector<int64_t>& path,
                                 const std::vector<int64_t>& drafted) {
  width_->record(std::ssize(drafted), std::ranges::mismatch(path, drafted).in1 - path.begin());
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

int64_t InputTimeSpeculator::room_for_masks(int64_t num_known, const TokenTree& tree) const {
  return std::min({kMostMasks, config_.other_tokens - (tree.size() - num_known),
                   context_length() - static_cast<int64_t>(prompt_length_) - tree.size()});
}

void InputTimeSpeculator::add_candidates(TokenTree& tree, int64_t num_drafted,
                                         const GenerationConfig& config) const {
  const int64_t others = std::min(config_.other_tokens, config_.tree_tokens - num_drafted);
  const int64_t room = std::min(tree.size() + std::max<int64_t>(others, 0),
                                context_length() - static_cast<int64_t>(prompt_length_));
  AnswerConstraint::PlacePtr start;
  if (config.constraint) start = config.constraint->after({});
  for (int64_t i = 0; i < config_.num_candidates - 1; ++i) {
    if (i == std::ssize(candidates_.newest_first())) break;
    const TokenSpan candidate = candidates_.newest_first()[static_cast<size_t>(i)];
    const int64_t length = std::min(std::ssize(candidate), config.max_new_tokens);
    tree.add(allowed_start(candidate.first(static_cast<size_t>(length)), config, start), room);
  }
}

}  // namespace predgen
