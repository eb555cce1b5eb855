#include "runtime/speculate/branches.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/generate/answer_constraint.h"
#include "runtime/generate/choices.h"
#include "text/token_ids.h"

namespace predgen {
namespace {

bool begins_with(const TokenIds& tokens, const TokenIds& beginning) {
  return beginning.size() <= tokens.size() &&
         std::ranges::equal(beginning, TokenSpan(tokens).first(beginning.size()));
}

}  // namespace

void CandidatePool::add(TokenIds candidate) {
  const auto longer = std::ranges::find_if(
      candidates_, [&](const TokenIds& other) { return begins_with(other, candidate); });
  if (longer != candidates_.end()) candidate = *longer;
  std::erase_if(candidates_, [&](const TokenIds& other) { return begins_with(candidate, other); });
  candidates_.insert(candidates_.begin(), std::move(candidate));
  if (std::ssize(candidates_) > max_candidates_) candidates_.pop_back();
}

namespace {

struct Fork {
  float margin = 0;  // of logits, the smaller the less certain
  int64_t place = 0;
  TokenId token = 0;
};

/// The best other token at every place of an answer that may have one, the least certain first.
std::vector<Fork> find_forks(const at::Tensor& logits_DV, TokenSpan answer) {
  const auto count = static_cast<int64_t>(answer.size());
  const at::Tensor own_D1 = at::tensor(answer, at::kLong).unsqueeze(1).to(logits_DV.device());
  const at::Tensor own_logits_D1 = logits_DV.gather(1, own_D1);
  const auto [best_D1, token_D1] =
      logits_DV.scatter(1, own_D1, -INFINITY).topk(1);  // a copy: the rows are the caller's
  const at::Tensor margin_D = (own_logits_D1 - best_D1).view(-1).to(at::kCPU, at::kFloat);
  const at::Tensor tokens_D = token_D1.reshape({-1}).to(at::kCPU);
  std::vector<Fork> forks;
  for (int64_t i = 0; i < count; ++i) {
    forks.push_back({margin_D.data_ptr<float>()[i], i, tokens_D.data_ptr<int64_t>()[i]});
  }
  std::erase_if(forks, [](const Fork& fork) { return std::isinf(fork.margin); });
  std::ranges::stable_sort(forks, std::less<>(), &Fork::margin);
  return forks;
}

/// The prefixes of the branches: the answer up to a place, and the other token.
std::vector<TokenIds> find_beginnings(Engine& engine, const Sequence& answered,
                                      int64_t max_branches, const GenerationConfig& config,
                                      int64_t& num_forward_passes) {
  const TokenSpan answer = answered.tokens().subspan(static_cast<size_t>(config.answer_begin));
  if (answer.empty() || max_branches < 1) return {};
  Sequence prompt = answered.fork();
  prompt.truncate(config.answer_begin);
  const EngineResult result = engine.run({.sequence = &prompt,
                                          .draft = answer.first(answer.size() - 1),
                                          .priority = config.priority,
                                          .should_stop = config.should_stop});
  num_forward_passes += result.num_forward_passes;
  if (!result.logits) return {};
  at::Tensor logits_DV = *result.logits;
  if (config.constraint) {
    logits_DV = allowed_logits(
        logits_DV, places_along(config.constraint->after({}), answer.first(answer.size() - 1)));
  }
  std::vector<Fork> forks = find_forks(logits_DV, answer);
  forks.resize(std::min(forks.size(), static_cast<size_t>(max_branches)));
  std::vector<TokenIds> beginnings;
  for (const Fork& fork : forks) {
    TokenIds& beginning = beginnings.emplace_back(answer.begin(), answer.begin() + fork.place);
    beginning.push_back(fork.token);
  }
  return beginnings;
}

/// A branch while it grows.
class Shoot {
 public:
  Shoot(const Sequence& answered, TokenIds& answer, const GenerationConfig& config,
        IsWhole is_whole)
      : sequence_(answered.fork()), answer_(answer), is_whole_(std::move(is_whole)) {
    const TokenSpan prompt = answered.tokens().first(static_cast<size_t>(config.answer_begin));
    TokenIds tokens(prompt.begin(), prompt.end());
    tokens.insert(tokens.end(), answer.begin(), answer.end());
    sequence_.replace(tokens);
    look_at(answer, config);
  }

  bool grows() const { return grows_; }
  Sequence& sequence() { return sequence_; }
  /// `logits_1V`: after its last token.
  void take(const at::Tensor& logits_1V, const GenerationConfig& config) {
    const TokenIds found = Choices(config, logits_1V, sequence_.tokens(), {}).found({});
    if (found.back() == kNoToken) {  // the answer need not come to this dead end
      grows_ = false;
      return;
    }
    sequence_.append(found);
    answer_.insert(answer_.end(), found.begin(), found.end());
    look_at(found, config);
  }

 private:
  void look_at(TokenSpan new_tokens, const GenerationConfig& config) {
    grows_ = !is_whole_(new_tokens) && std::ssize(answer_) < config.max_new_tokens &&
             sequence_.size() < sequence_.capacity() &&
             !is_stop_token(config.stop_tokens, new_tokens.back());
  }

  Sequence sequence_;
  TokenIds& answer_;
  IsWhole is_whole_;
  bool grows_ = true;
};

}  // namespace

int64_t Branches::grow(Engine& engine, const Sequence& answered, const GenerationConfig& config,
                       const FollowAnswer& follow) {
  if (done_) return 0;
  int64_t num_tokens = 0;
  if (answers_.empty()) {
    answers_ = find_beginnings(engine, answered, max_branches_, config, num_forward_passes_);
    num_tokens = std::ssize(answers_);
    if (answers_.empty()) return 0;
  }
  std::vector<Shoot> shoots;
  for (TokenIds& answer : answers_) shoots.emplace_back(answered, answer, config, follow());
  for (;;) {
    std::vector<EngineRequest> requests;
    std::vector<Shoot*> growing;
    for (Shoot& shoot : shoots) {
      if (!shoot.grows()) continue;
      requests.push_back({.sequence = &shoot.sequence(), .priority = config.priority});
      growing.push_back(&shoot);
    }
    done_ = requests.empty();
    if (done_ || (config.should_stop && config.should_stop())) return num_tokens;
    const std::vector<EngineResult> results = engine.run(requests);
    num_forward_passes_ +=
        std::ranges::max(results, {}, &EngineResult::num_forward_passes).num_forward_passes;
    for (size_t i = 0; i < growing.size(); ++i) growing[i]->take(*results[i].logits, config);
    num_tokens += std::ssize(growing);
  }
}

void Branches::clear() {
  answers_.clear();
  done_ = false;
}

}  // namespace predgen
