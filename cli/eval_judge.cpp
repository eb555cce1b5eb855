#include "cli/eval_judge.h"

#include <cstdlib>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/progress.h"

namespace predgen {
namespace {

/// Of the endpoint; empty if none is sent.
std::string key_of(const JudgeConfig& config) {
  if (config.key_variable.empty()) return "";
  const char* key = std::getenv(config.key_variable.c_str());
  if (!key || !*key) {
    throw UserError("judge.key_variable: the environment has no {}", config.key_variable);
  }
  return key;
}

void check_cost(const JudgeConfig& config, const AnswerJudge::Estimate& estimate, bool agreed) {
  const std::string cost = fmt::format(
      "the judge {} may be called {} times, for about {} tokens to read and at most {} to write",
      config.model, estimate.calls, estimate.prompt_tokens, estimate.reply_tokens);
  if (!agreed && estimate.calls > config.max_calls) {
    throw UserError("{}: allow it with --judge-yes or judge.max_calls={}", cost, estimate.calls);
  }
  spdlog::info(cost);
}

}  // namespace

std::unique_ptr<EvalJudge> EvalJudge::make(const EvalConfig& config,
                                           const std::vector<EvalTurn>& turns, bool agreed,
                                           const std::stop_token& stop) {
  if (config.judge.endpoint.empty()) return nullptr;
  AnswerJudge judge(config.judge, turns);
  check_cost(config.judge, judge.estimate(config.methods.size(), config.turn.max_new_tokens),
             agreed);
  const std::string key = key_of(config.judge);
  return std::unique_ptr<EvalJudge>(new EvalJudge(config.judge, std::move(judge), key, stop));
}

EvalJudge::EvalJudge(const JudgeConfig& config, AnswerJudge judge, const std::string& key,
                     const std::stop_token& stop)
    : config_(config),
      clock_(stop),
      judge_(std::move(judge)),
      client_(
          config, key,
          connect_http(config.endpoint + "/chat/completions", key, config.timeout_seconds, stop),
          clock_) {
  make_folder(config.cache);
}

Json EvalJudge::judge(EvalRun& run) {
  Progress progress("judge", "answers", std::ssize(run.rows));
  int64_t num_done = 0;
  judge_.judge(run, client_, [&] { progress.update(++num_done); });
  progress.finish();
  return {{"model", config_.model}, {"endpoint", config_.endpoint}, {"usage", client_.usage()}};
}

}  // namespace predgen
