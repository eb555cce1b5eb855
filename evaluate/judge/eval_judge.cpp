#include "evaluate/judge/eval_judge.h"

#include <cstdlib>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/progress.h"
#include "evaluate/judge/local_chat.h"
#include "model/checkpoint/checkpoint.h"
#include "model/weights/weights_hash.h"

namespace predgen::evaluate {
namespace {

/// The endpoint's key; empty if none is sent.
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
                                           const std::vector<EvalTurn>& turns,
                                           const LoadOptions& load, bool agreed,
                                           const std::stop_token& stop) {
  JudgeConfig asked = config.judge;
  if (!asked.exists()) return nullptr;
  AnswerJudge judge(asked, turns);
  std::string key;
  HttpPost post;
  if (asked.is_local()) {
    const std::unique_ptr<const Checkpoint> checkpoint = open_checkpoint(asked.folder);
    post = load_local_chat(*checkpoint, load, stop);
    asked.model = hash_weights(checkpoint->weight_files());  // the key of cached replies
  } else {
    AnswerJudge::Estimate estimate =
        judge.estimate(config.methods.size(), config.turn.max_new_tokens);
    const auto num_runs = static_cast<int64_t>(config.models.size() * config.prices.size());
    for (int64_t* count : {&estimate.calls, &estimate.prompt_tokens, &estimate.reply_tokens}) {
      *count *= num_runs;
    }
    check_cost(asked, estimate, agreed);
    key = key_of(asked);
    post = connect_http(asked.endpoint + "/chat/completions", key, asked.timeout_seconds, stop);
  }
  make_folder(asked.cache);
  return std::unique_ptr<EvalJudge>(
      new EvalJudge(asked, std::move(judge), key, std::move(post), stop));
}

EvalJudge::EvalJudge(const JudgeConfig& config, AnswerJudge judge, const std::string& key,
                     HttpPost post, const std::stop_token& stop)
    : config_(config),
      clock_(stop),
      judge_(std::move(judge)),
      client_(config, key, std::move(post), clock_) {}

Json EvalJudge::judge(Json& rows) {
  Progress progress("judge", "answers", static_cast<int64_t>(rows.size()));
  int64_t num_done = 0;
  judge_.judge(rows, client_, [&] { progress.update(++num_done); });
  progress.finish();
  return {{"model", config_.is_local() ? config_.folder.string() : config_.model},
          {"endpoint", config_.endpoint},
          {"usage", client_.usage()}};
}

}  // namespace predgen::evaluate
