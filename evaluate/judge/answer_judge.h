#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "evaluate/judge/judge_client.h"
#include "evaluate/judge/judged_answer.h"
#include "evaluate/turn_rows.h"

namespace predgen::evaluate {

/// Grades the answers of a run as MT-Bench does: alone, from 1 to 10, and beside the baseline's in
/// both orders. The second turn of a question is shown with the first; a turn with other earlier
/// rounds as the conversation's text. Borrows the turns, which outlive it.
class AnswerJudge {
 public:
  /// UserError for a prompt that a turn needs and the file lacks, and for a bad references file.
  AnswerJudge(const JudgeConfig& config, const std::vector<EvalTurn>& turns);

  /// Upper bounds; identical answers are asked about once, cached ones not at all.
  struct Estimate {
    int64_t calls = 0, prompt_tokens = 0, reply_tokens = 0;
  };
  /// For a run of `num_methods`, the baseline included. Assumes four bytes per token, as usual for
  /// English.
  Estimate estimate(size_t num_methods, int64_t max_answer_tokens) const;

  /// Adds to every row of a run (turn_rows.h) what the judge said: "judge_grade",
  /// "judge_against_baseline" (win, tie or loss), and why one is missing, "judge_grade_problem",
  /// "judge_against_baseline_problem". `on_row` is called after each. Interrupted if the client was
  /// stopped.
  void judge(Json& rows, JudgeClient& client, const std::function<void()>& on_row) const;

 private:
  using Fields = JudgePrompts::Fields;
  using Answers = std::map<size_t, std::string>;  // of one method, by turn
  /// Question and reference answers of a turn.
  Fields question(size_t turn) const;
  /// Adds the answers to a turn and to the one that it continues.
  void add_answers(size_t turn, const std::string& side, const Answers& answers,
                   Fields& fields) const;
  void grade(size_t turn, const Answers& answers, JudgeClient& client, JudgedAnswer& judged) const;
  void compare(size_t turn, const Answers& baseline, const Answers& answers, JudgeClient& client,
               JudgedAnswer& judged) const;

  const JudgeConfig config_;
  const std::vector<EvalTurn>& turns_;
  const JudgePrompts prompts_;
  std::map<std::string, std::string> references_;  // by the turn's id
};

}  // namespace predgen::evaluate
