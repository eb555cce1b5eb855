#include "evaluate/judge/answer_judge.h"

#include "core/error.h"
#include "evaluate/json_rows.h"

namespace predgen::evaluate {
namespace {

std::map<std::string, std::string> read_references(const std::filesystem::path& file) {
  std::map<std::string, std::string> references;
  if (file.empty()) return references;
  for_each_row(file, [&](const Json& row, const std::string& where) {
    const auto id = json_get<int64_t>(row, "question_id", where);
    const auto choices = json_get<std::vector<Json>>(row, "choices", where);
    if (choices.empty()) throw UserError("{}: \"choices\" is empty", where);
    const auto turns = json_get<std::vector<std::string>>(choices.front(), "turns", where);
    for (size_t i = 0; i < turns.size(); ++i) references[fmt::format("{}/{}", id, i)] = turns[i];
  });
  return references;
}

/// What the judge reads as the question.
std::string question_text(const EvalTurn& turn) {
  if (turn.right_answer) return turn.prompt_text;  // earlier rounds are worked examples
  std::string text;
  for (const Message& message : turn.history) {
    text += (message.role == "user" ? "User: " : "Assistant: ") + message.content + "\n\n";
  }
  return text.empty() ? turn.prompt_text : text + "User: " + turn.prompt_text;
}

void add_judged(const JudgedAnswer& judged, Json& row) {
  static constexpr const char* kNames[] = {"loss", "tie", "win"};
  row["judge_grade"] = judged.grade ? Json(*judged.grade) : Json();
  row["judge_against_baseline"] =
      judged.outcome ? Json(kNames[static_cast<size_t>(*judged.outcome)]) : Json();
  row["judge_grade_problem"] = judged.grade_problem;
  row["judge_against_baseline_problem"] = judged.outcome_problem;
}

}  // namespace

AnswerJudge::AnswerJudge(const JudgeConfig& config, const std::vector<EvalTurn>& turns)
    : config_(config),
      turns_(turns),
      prompts_(config.prompts),
      references_(read_references(config.references)) {
  estimate(1, 0);  // fills every prompt that is needed
}

JudgePrompts::Fields AnswerJudge::question(size_t turn) const {
  Fields fields;
  const auto add = [&](size_t index, const std::string& number) {
    fields["question" + (turns_[turn].continues ? "_" + number : "")] =
        question_text(turns_[index]);
    const auto reference = references_.find(turns_[index].id);
    if (reference != references_.end()) fields["ref_answer_" + number] = reference->second;
  };
  const bool continues = turns_[turn].continues;
  if (continues) add(turn - 1, "1");
  add(turn, continues ? "2" : "1");
  return fields;
}

void AnswerJudge::add_answers(size_t turn, const std::string& side, const Answers& answers,
                              Fields& fields) const {
  if (turns_[turn].continues) {
    fields["answer" + side + "_1"] = answers.at(turn - 1);
    fields["answer" + side + "_2"] = answers.at(turn);
  } else {
    fields["answer" + side] = answers.at(turn);
  }
}

AnswerJudge::Estimate AnswerJudge::estimate(size_t num_methods, int64_t max_answer_tokens) const {
  Estimate total;
  Answers none;
  const auto add = [&](const std::string& type, const Fields& fields, size_t calls,
                       int64_t num_answers) {
    const JudgeRequest request = prompts_.fill(type, fields);
    const auto tokens = static_cast<int64_t>(request.system.size() + request.user.size()) / 4 +
                        num_answers * max_answer_tokens;
    total.calls += static_cast<int64_t>(calls);
    total.prompt_tokens += static_cast<int64_t>(calls) * tokens;
  };
  for (size_t i = 0; i < turns_.size(); ++i) {
    none[i] = "";
    const int64_t num_answers = turns_[i].continues ? 2 : 1;
    Fields one = question(i), two = one;
    add_answers(i, "", none, one);
    if (config_.grades) add("single", one, num_methods, num_answers);
    add_answers(i, "_a", none, two);
    add_answers(i, "_b", none, two);
    if (config_.pairs) add("pairwise", two, 2 * (num_methods - 1), 2 * num_answers);
  }
  total.reply_tokens = total.calls * config_.max_reply_tokens;
  return total;
}

void AnswerJudge::grade(size_t turn, const Answers& answers, JudgeClient& client,
                        JudgedAnswer& judged) const {
  Fields fields = question(turn);
  add_answers(turn, "", answers, fields);
  const JudgeReply reply = client.ask(prompts_.fill("single", fields), [](const std::string& text) {
    return find_grade(text).has_value();
  });
  if (reply.text) judged.grade = find_grade(*reply.text);
  judged.grade_problem = reply.error;
}

void AnswerJudge::compare(size_t turn, const Answers& baseline, const Answers& answers,
                          JudgeClient& client, JudgedAnswer& judged) const {
  std::string preferred;  // 'A' is the baseline's in the first order, 'B' in the second
  for (const bool swapped : {false, true}) {
    Fields fields = question(turn);
    add_answers(turn, swapped ? "_b" : "_a", baseline, fields);
    add_answers(turn, swapped ? "_a" : "_b", answers, fields);
    const JudgeReply reply =
        client.ask(prompts_.fill("pairwise", fields),
                   [](const std::string& text) { return find_preference(text).has_value(); });
    if (!reply.text) {
      judged.outcome_problem = reply.error;
      return;
    }
    preferred += find_preference(*reply.text).value_or('C');
  }
  judged.outcome = preferred == "BA"   ? PairOutcome::kWin
                   : preferred == "AB" ? PairOutcome::kLoss
                                       : PairOutcome::kTie;
}

void AnswerJudge::judge(Json& rows, JudgeClient& client,
                        const std::function<void()>& on_row) const {
  std::map<std::string, Answers> answers_of;
  for (const Json& row : rows) answers_of[row.at("method")][row.at("turn")] = row.at("text");
  const Answers& baseline = answers_of["baseline"];
  for (Json& row : rows) {
    const std::string method = row.at("method");
    const Answers& answers = answers_of[method];
    const size_t turn = row.at("turn");
    JudgedAnswer judged;
    if (config_.grades) grade(turn, answers, client, judged);
    const bool alike = baseline.contains(turn) && baseline.at(turn) == answers.at(turn) &&
                       (!turns_[turn].continues || baseline.at(turn - 1) == answers.at(turn - 1));
    if (config_.pairs && method != "baseline") {
      if (alike) {
        judged.outcome = PairOutcome::kTie;
      } else {
        compare(turn, baseline, answers, client, judged);
      }
    }
    add_judged(judged, row);
    on_row();
  }
}

}  // namespace predgen::evaluate
