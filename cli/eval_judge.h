#pragma once

#include <memory>
#include <stop_token>

#include "core/clock.h"
#include "evaluate/eval_config.h"
#include "evaluate/judge/answer_judge.h"

namespace predgen {

/// The judge of `predgen eval`: permission, key, connection and progress.
class EvalJudge {
 public:
  /// Null if the configuration names no judge. UserError, before anything was asked, if it may cost
  /// more than the configuration allows and the user has not `agreed`, if the environment has no
  /// key, and if nothing listens. `turns` outlive it.
  static std::unique_ptr<EvalJudge> make(const EvalConfig& config,
                                         const std::vector<EvalTurn>& turns, bool agreed,
                                         const std::stop_token& stop);

  /// Sets EvalRow::judged of every row; the result says who judged, and how many calls it took.
  Json judge(EvalRun& run);

 private:
  EvalJudge(const JudgeConfig& config, AnswerJudge judge, const std::string& key,
            const std::stop_token& stop);

  const JudgeConfig config_;
  SystemClock clock_;
  const AnswerJudge judge_;
  JudgeClient client_;
};

}  // namespace predgen
