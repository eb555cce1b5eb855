#pragma once

#include <memory>
#include <stop_token>

#include "core/clock.h"
#include "evaluate/eval_config.h"
#include "evaluate/judge/answer_judge.h"
#include "model/load_options.h"

namespace predgen::evaluate {

/// The judge of `predgen eval`: permission, key, connection and progress.
class EvalJudge {
 public:
  /// Null if the configuration names no judge. A judge in a folder is loaded as `load` says. For an
  /// endpoint, UserError before anything is asked if it may cost more than the configuration allows
  /// and the user has not `agreed`, if the environment has no key, or if nothing listens. `turns`
  /// outlive it.
  static std::unique_ptr<EvalJudge> make(const EvalConfig& config,
                                         const std::vector<EvalTurn>& turns,
                                         const LoadOptions& load, bool agreed,
                                         const std::stop_token& stop);

  /// AnswerJudge::judge() of a run's rows; the result says who judged, and how many calls it took
  /// so far.
  Json judge(Json& rows);

 private:
  EvalJudge(const JudgeConfig& config, AnswerJudge judge, const std::string& key, HttpPost post,
            const std::stop_token& stop);

  const JudgeConfig config_;
  SystemClock clock_;
  const AnswerJudge judge_;
  JudgeClient client_;
};

}  // namespace predgen::evaluate
