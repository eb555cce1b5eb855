#include "runtime/generate/jacobi_generator.h"

#include <algorithm>

#include "core/error.h"
#include "runtime/generate/choices.h"
#include "runtime/generate/sequence_pass.h"

namespace predgen {

JacobiDraft::JacobiDraft(int64_t window, TokenSpan guess, const Random& random)
    : window_(window), random_(random), guess_(guess.begin(), guess.end()) {}

TokenSpan JacobiDraft::next(const Sequence& sequence, const GenerationConfig& config,
                            int64_t max_new_tokens, const Refill& refill, int64_t most_guesses) {
  const int64_t most = std::min(max_new_tokens - 1, sequence.capacity() - sequence.size());
  width_ = num_guessed_ = std::min({window_ - 1, most, most_guesses});
  if (config.constraint) {
    keep_inside(sequence, config, most, refill);
    return TokenSpan(guess_).first(static_cast<size_t>(width_));
  }
  if (const int64_t missing = width_ - std::ssize(guess_); missing > 0 && refill) {
    TokenIds tokens(sequence.tokens().begin(), sequence.tokens().end());
    tokens.insert(tokens.end(), guess_.begin(), guess_.end());
    const TokenIds more = refill(tokens, missing);
    guess_.insert(guess_.end(), more.begin(), more.end());
  }
  while (static_cast<int64_t>(guess_.size()) < width_) {
    guess_.push_back(sequence.tokens()[random_.below(sequence.tokens().size())]);
  }
  return TokenSpan(guess_).first(static_cast<size_t>(width_));
}

void JacobiDraft::keep_inside(const Sequence& sequence, const GenerationConfig& config,
                              int64_t most, const Refill& refill) {
  AnswerConstraint::PlacePtr place = place_of(sequence.tokens(), config);
  TokenIds window;
  // What of `tokens` is allowed and fits.
  const auto add = [&](TokenSpan tokens, int64_t longest) {
    tokens = tokens.first(std::min(tokens.size(), static_cast<size_t>(longest) - window.size()));
    tokens = tokens.first(static_cast<size_t>(count_allowed(place, tokens)));
    for (const TokenId token : tokens) place = place->next(token);
    window.insert(window.end(), tokens.begin(), tokens.end());
    return !tokens.empty();
  };
  const auto missing = [&] { return place ? width_ - std::ssize(window) : 0; };
  const auto add_forced_up_to = [&](int64_t longest) {
    const int64_t room = std::min(kMostForced, longest - std::ssize(window));
    return place && add(place->forced(room), longest);
  };
  if (place) {
    const TokenIds forced = place->forced(std::min(kMostForced, most));
    const auto [in_forced, in_guess] = std::ranges::mismatch(forced, guess_);
    if (in_forced != forced.end() && in_guess != guess_.end()) guess_ = forced;
  }
  add(guess_, width_);
  const bool is_cut = std::ssize(window) < width_;
  add_forced_up_to(width_);
  if (missing() > 0 && refill) {
    TokenIds tokens(sequence.tokens().begin(), sequence.tokens().end());
    tokens.insert(tokens.end(), window.begin(), window.end());
    add(refill(tokens, missing()), width_);
  }
  while (missing() > 0) {
    const TokenIds any{sequence.tokens()[random_.below(sequence.tokens().size())]};
    if (!add_forced_up_to(width_) && !add(any, width_)) break;
  }
  num_guessed_ = std::ssize(window);
  add_forced_up_to(most);
  width_ = std::ssize(window);
  // A guess that was allowed goes on in the next window.
  const auto rest = guess_.begin() + std::min(width_, std::ssize(guess_));
  if (!is_cut) window.insert(window.end(), rest, guess_.end());
  guess_ = std::move(window);
}

TokenIds JacobiDraft::take(const GenerationConfig& config, const at::Tensor& logits_NV,
                           TokenSpan before) {
  TokenTree tree;
  const std::vector<int64_t> window =
      tree.add(TokenSpan(guess_).first(static_cast<size_t>(width_)));
  const Choices choices(config, logits_NV, before, tree);
  const std::vector<int64_t> path = choices.follow();
  TokenIds next = choices.guess_after(path, window);
  // After the window the rest of the old guess keeps its place.
  next.insert(next.end(), guess_.begin() + std::min<int64_t>(width_ + 1, std::ssize(guess_)),
              guess_.end());
  guess_ = std::move(next);
  return choices.found(path);
}

namespace {

// Between the rates of right guesses of untrained and trained models.
constexpr double kFirstRate = 1.0 / 3;

int64_t checked_by(int64_t window) {
  if (window < 1) throw UserError("the Jacobi block size is {}, but must be at least 1", window);
  return std::max<int64_t>(window - 1, 1);
}

}  // namespace

JacobiGenerator::JacobiGenerator(Engine& engine, int64_t window, uint64_t seed,
                                 std::vector<std::unique_ptr<DraftSource>> sources,
                                 const PassCosts& costs)
    : engine_(engine),
      window_(window),
      width_(checked_by(window),
             {.costs = costs, .first_rate = kFirstRate, .reruns = engine.reruns_drafts()}),
      seed_(seed),
      sources_(std::move(sources)) {}

GenerationResult JacobiGenerator::generate(Sequence& sequence, const Guess& guess,
                                           const GenerationConfig& config,
                                           const TokenCallback& on_tokens) {
  GenerationResult result;
  // Keyed by the place in the text, so that earlier calls do not change this one.
  JacobiDraft draft(window_, guess.next, Random(seed_, "jacobi", sequence.tokens().size()));
  bool stopped = false;
  const TokenTree none;
  const auto refill = [&](TokenSpan tokens, int64_t max_tokens) {
    for (const auto& source : sources_) {
      const auto paths =
          source->propose(tokens, guess.drafts, config, {none, max_tokens, &sequence});
      stopped = !paths;
      if (stopped) break;
      if (!paths->empty()) return paths->front();
    }
    return TokenIds();
  };
  while (has_room(sequence, config, result)) {
    const int64_t left = config.max_new_tokens - result.num_new_tokens;
    const TokenSpan window = draft.next(sequence, config, left, refill, width_.best());
    if (stopped) {
      result.stop_reason = StopReason::kCancelled;
      break;
    }
    const std::optional<at::Tensor> logits = run_draft(engine_, sequence, window, config, result);
    if (!logits) break;
    const TokenIds found = draft.take(config, *logits, sequence.tokens());
    width_.record(draft.num_guessed(), std::min(draft.num_guessed(), std::ssize(found) - 1));
    if (!commit_tokens(sequence, found, config, on_tokens, result)) break;
  }
  return result;
}

void JacobiGenerator::prefill(TokenSpan tokens) {
  for (const auto& source : sources_) source->prefill(tokens);
}

}  // namespace predgen
