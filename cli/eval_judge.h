#pragma once

#include <memory>
#include <stop_token>

#include "core/clock.h"
#include "evaluate/eval_config.h"
#include "evaluate/judge/answer_judge.h"
#include "model/load_options.h"

namespace predgen::cli {

/// The judge of `predgen eval`: permission, key, connection and progress.
class EvalJudge {
 public:
  /// Null if the configuration names no judge. One in a folder is loaded as `load` says; of an
  /// endpoint it is a UserError, before anything was asked, if it may cost more than the
  /// configuration allows and the user has not `agreed`, if the environment has no key, and if
  /// nothing listens. `turns` outlive it.
  static std::unique_ptr<EvalJudge> make(const evaluate::EvalConfig& config,
                                         const std::vector<evaluate::EvalTurn>& turns,
                                         const LoadOptions& load, bool agreed,
                                         const std::stop_token& stop);

  /// AnswerJudge::judge() of a run's rows; the result says who judged, and how many calls it took
  /// so far.
  Json judge(Json& rows);

 private:
  EvalJudge(const evaluate::JudgeConfig& config, evaluate::AnswerJudge judge,
            const std::string& key, evaluate::HttpPost post, const std::stop_token& stop);

  const evaluate::JudgeConfig config_;
  SystemClock clock_;
  const evaluate::AnswerJudge judge_;
  evaluate::JudgeClient client_;
};

}  // namespace predgen::cli
