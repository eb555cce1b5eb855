#include "runtime/generate/answer_constraint.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "runtime/generate/sampler.h"
#include "text/token_ids.h"

namespace predgen {
namespace {

using PlacePtr = AnswerConstraint::PlacePtr;

// Some drafts and the trees around them. A place may hold a copy of a parser's state and a set.
constexpr int64_t kMostPlaces = 256;

}  // namespace

/// What the places of an answer have in common.
struct AnswerConstraint::Rules {
  TokenIds stop_tokens;
  int64_t vocab_size;
  int64_t num_places = 0;  // made since the last restart

  bool is_token(TokenId token) const { return token >= 0 && token < vocab_size; }
  /// Takes `state` on by a token; to null if that ends the answer. False if it may not come.
  bool advance(std::unique_ptr<TokenConstraint>& state, TokenId token) const {
    if (!state || !is_token(token)) return false;
    if (!is_stop_token(stop_tokens, token)) return state->accept(token);
    const bool may_end = state->may_end();
    state.reset();
    return may_end;
  }
};

AnswerConstraint::AnswerConstraint(std::shared_ptr<const TokenConstraint> start,
                                   TokenSpan stop_tokens, int64_t vocab_size)
    : start_(std::move(start)),
      rules_(std::make_shared<Rules>(Rules{{stop_tokens.begin(), stop_tokens.end()}, vocab_size})) {
  restart({});
}

const TokenIds& AnswerConstraint::stop_tokens() const { return rules_->stop_tokens; }

PlacePtr AnswerConstraint::after(TokenSpan answer) {
  const auto common =
      static_cast<size_t>(std::ranges::mismatch(answer_, answer).in1 - answer_.begin());
  if (common < begin_ || rules_->num_places > kMostPlaces) {
    restart(answer);
    return trail_.back();
  }
  answer_.resize(common);
  trail_.resize(common - begin_ + 1);
  for (const TokenId token : answer.subspan(common)) {
    answer_.push_back(token);
    trail_.push_back(trail_.back() ? trail_.back()->next(token) : nullptr);
  }
  return trail_.back();
}

void AnswerConstraint::restart(TokenSpan answer) {
  std::unique_ptr<TokenConstraint> state = start_->fork();
  const bool is_inside =
      std::ranges::all_of(answer, [&](TokenId token) { return rules_->advance(state, token); });
  answer_.assign(answer.begin(), answer.end());
  begin_ = answer.size();
  rules_->num_places = 1;
  trail_.assign(1, is_inside ? std::make_shared<Place>(rules_, std::move(state)) : nullptr);
}

void AnswerConstraint::fail_at_dead_end(int64_t length) const {
  throw DeadEnd(
      "{} comes to a dead end after {} tokens of an answer: no token of this model may follow, and "
      "the answer may not end there: change it so that one of the two may",
      start_->name(), length);
}

AnswerConstraint::Place::Place(std::shared_ptr<Rules> rules, std::unique_ptr<TokenConstraint> state)
    : rules_(std::move(rules)), state_(std::move(state)) {}

PlacePtr AnswerConstraint::Place::next(TokenId token) {
  const auto known = std::ranges::find(next_, token, &std::pair<TokenId, PlacePtr>::first);
  if (known != next_.end()) return known->second;
  ++rules_->num_places;
  return next_.emplace_back(token, make_next(token)).second;
}

PlacePtr AnswerConstraint::Place::make_next(TokenId token) {
  if (!state_ || !rules_->is_token(token)) return nullptr;
  if (allowed_ && !allowed_->contains(token)) return nullptr;
  std::unique_ptr<TokenConstraint> state = state_->fork();
  return rules_->advance(state, token) ? std::make_shared<Place>(rules_, std::move(state))
                                       : nullptr;
}

const TokenSet& AnswerConstraint::Place::allowed() {
  if (allowed_) return *allowed_;
  allowed_.emplace(rules_->vocab_size);
  if (!state_) return *allowed_;
  state_->insert_allowed(*allowed_);
  for (const TokenId token : rules_->stop_tokens) {
    if (token >= rules_->vocab_size) continue;
    state_->may_end() ? allowed_->insert(token) : allowed_->erase(token);
  }
  return *allowed_;
}

std::optional<TokenId> AnswerConstraint::Place::forced_end() {
  if (!state_ || !state_->may_end()) return std::nullopt;
  std::optional<TokenId> end;
  int64_t num_ends = 0;
  for (const TokenId token : rules_->stop_tokens) {
    if (!allowed().contains(token)) continue;
    if (!end) end = token;
    ++num_ends;
  }
  return allowed().count() == num_ends ? end : std::nullopt;
}

TokenIds AnswerConstraint::Place::forced(int64_t most) {
  TokenIds run;
  if (!state_ || most < 1) return run;
  Place* place = this;
  for (const TokenId token : state_->forced(most)) {
    const PlacePtr next = place->next(token);
    if (!next || std::ssize(run) == most) break;
    run.push_back(token);
    place = next.get();  // which the place before it keeps
  }
  if (std::ssize(run) == most) return run;
  if (const std::optional<TokenId> end = place->forced_end()) run.push_back(*end);
  return run;
}

std::vector<PlacePtr> places_along(PlacePtr place, TokenSpan tokens) {
  std::vector<PlacePtr> places{std::move(place)};
  for (const TokenId token : tokens) {
    places.push_back(places.back() ? places.back()->next(token) : nullptr);
  }
  return places;
}

int64_t count_allowed(PlacePtr place, TokenSpan draft) {
  int64_t count = 0;
  for (const TokenId token : draft) {
    place = place ? place->next(token) : nullptr;
    if (!place) break;
    ++count;
  }
  return count;
}

TokenIds likeliest_allowed(const at::Tensor& logits_NV, std::span<const PlacePtr> places) {
  TokenIds likeliest = argmax_rows(logits_NV);
  // A set is needed only where the model would leave the constraint.
  std::vector<int64_t> rows;
  std::vector<PlacePtr> left;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] && places[i]->next(likeliest[i])) continue;
    likeliest[i] = kNoToken;
    if (!places[i] || places[i]->allowed().count() == 0) continue;
    rows.push_back(static_cast<int64_t>(i));
    left.push_back(places[i]);
  }
  if (rows.empty()) return likeliest;
  const at::Tensor ids = at::tensor(rows, at::kLong).to(logits_NV.device());
  const TokenIds found = argmax_rows(allowed_logits(logits_NV.index_select(0, ids), left));
  for (size_t i = 0; i < rows.size(); ++i) likeliest[static_cast<size_t>(rows[i])] = found[i];
  return likeliest;
}

TokenIds likeliest_path(const at::Tensor& logits_NV, PlacePtr place) {
  TokenIds path;
  for (int64_t row = 0; row < logits_NV.size(0); ++row) {
    const TokenId token = likeliest_allowed(logits_NV.narrow(0, row, 1), {&place, 1}).front();
    if (token == kNoToken) break;
    path.push_back(token);
    place = place->next(token);
  }
  return path;
}

namespace {

/// bool [N,V].
at::Tensor allowed_rows(std::span<const PlacePtr> places, int64_t vocab_size, at::Device device) {
  at::Tensor allowed_NV = at::zeros({std::ssize(places), vocab_size}, at::kBool);
  bool* row = allowed_NV.mutable_data_ptr<bool>();
  for (const PlacePtr& place : places) {
    TokenId first = 0;  // of a word
    for (uint32_t word : place ? place->allowed().words() : std::span<const uint32_t>()) {
      for (; word != 0; word &= word - 1) {
        const TokenId token = first + std::countr_zero(word);
        if (token < vocab_size) row[token] = true;
      }
      first += 32;
    }
    row += vocab_size;
  }
  return allowed_NV.to(device);
}

}  // namespace

at::Tensor allowed_logits(const at::Tensor& logits_NV, std::span<const PlacePtr> places) {
  const at::Tensor allowed_NV = allowed_rows(places, logits_NV.size(1), logits_NV.device());
  return logits_NV.masked_fill(allowed_NV.logical_not(), -std::numeric_limits<double>::infinity());
}

at::Tensor allowed_tokens(const PlacePtr& place, int64_t vocab_size, at::Device device) {
  return allowed_rows({&place, 1}, vocab_size, device)[0];
}

}  // namespace predgen
