#include "runtime/speculate/branches.h"

#include <algorithm>

#include "runtime/generate/choices.h"
#include "text/stop_tokens.h"

namespace predgen {
namespace {

struct Fork {
  float margin = 0;  // of logits, the smaller the less certain
  int64_t place = 0;
  TokenId token = 0;
};

/// The best other token at every place of an answer, the least certain place first.
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
  std::ranges::stable_sort(forks, std::less<>(), &Fork::margin);
  return forks;
}

}  // namespace

std::vector<TokenIds> grow_branches(Engine& engine, const Sequence& answered, int64_t num_branches,
                                    const GenerationConfig& config,
                                    const std::function<bool(TokenSpan answer)>& is_whole) {
  const int64_t answer_begin = config.answer_begin;
  const TokenSpan answer = answered.tokens().subspan(static_cast<size_t>(answer_begin));
  if (answer.empty() || num_branches < 1) return {};
  Sequence prompt = answered.fork();
  prompt.truncate(answer_begin);
  const std::optional<at::Tensor> logits = engine
                                               .run({.sequence = &prompt,
                                                     .draft = answer.first(answer.size() - 1),
                                                     .priority = config.priority,
                                                     .should_stop = config.should_stop})
                                               .logits;
  if (!logits) return {};
  std::vector<Fork> forks = find_forks(*logits, answer);
  forks.resize(std::min(forks.size(), static_cast<size_t>(num_branches)));

  std::vector<Sequence> branches;
  for (const Fork& fork : forks) {
    branches.push_back(answered.fork());
    branches.back().truncate(answer_begin + fork.place);
    branches.back().append({&fork.token, 1});
  }
  const auto answer_of = [&](const Sequence& branch) {
    return branch.tokens().subspan(static_cast<size_t>(answer_begin));
  };
  const auto grows = [&](const Sequence& branch) {
    const TokenSpan own = answer_of(branch);
    return std::ssize(own) < config.max_new_tokens && branch.size() < branch.capacity() &&
           !is_stop_token(config.stop_tokens, own.back()) && !is_whole(own);
  };
  for (;;) {
    std::vector<EngineRequest> requests;
    for (Sequence& branch : branches) {
      if (grows(branch)) requests.push_back({.sequence = &branch, .priority = config.priority});
    }
    if (requests.empty() || (config.should_stop && config.should_stop())) break;
    const std::vector<EngineResult> results = engine.run(requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      Sequence& branch = *requests[i].sequence;
      branch.append(Choices(config, *results[i].logits, branch.tokens(), {}).found({}));
    }
  }
  std::vector<TokenIds> answers;
  for (const Sequence& branch : branches) {
    const TokenSpan own = answer_of(branch);
    answers.emplace_back(own.begin(), own.end());
  }
  return answers;
}

}  // namespace predgen
