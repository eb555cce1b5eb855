#include "evaluate/exam_sets.h"

#include <map>

#include "core/error.h"
#include "core/text.h"
#include "evaluate/json_rows.h"

namespace predgen::evaluate {
namespace {

struct Task {
  std::string id, words;  // the bare question
  std::string question;   // as asked, with its options
  std::string answer;     // worked, of a shot
  std::string category;
  RightAnswer right;
};

std::string text_of(const Json& row, const char* key, const std::string& where) {
  auto text = json_get<std::string>(row, key, where);
  if (is_blank(text)) throw UserError("{}: \"{}\" is blank", where, key);
  return text;
}

Task read_gsm8k_row(const Json& row, const std::string& where) {
  const std::string answer = text_of(row, "answer", where);
  const size_t mark = answer.rfind("#### ");
  if (mark == std::string::npos) throw UserError("{}: \"answer\" has no \"#### \"", where);
  const std::string question = text_of(row, "question", where);
  return {where.substr(where.rfind(':') + 1),
          question,
          question,
          answer,
          "",
          {AnswerKind::kNumber, std::string(trimmed(answer.substr(mark + 5)))}};
}

/// The answer, a reasoning, may be empty.
Task read_mmlu_pro_row(const Json& row, const std::string& where) {
  Task task{fmt::format("{}", json_get<int64_t>(row, "question_id", where)),
            text_of(row, "question", where),
            "",
            json_get<std::string>(row, "cot_content", where),
            text_of(row, "category", where),
            {AnswerKind::kLetter, text_of(row, "answer", where)}};
  task.question = "Question:\n" + task.words + "\nOptions:";
  char letter = 'A';
  for (const auto& option : json_get<std::vector<std::string>>(row, "options", where)) {
    if (option != "N/A") task.question += fmt::format("\n{}. {}", letter++, option);
  }
  const std::string& right = task.right.text;
  if (letter > 'J' + 1 || right.size() != 1 || right[0] < 'A' || right[0] >= letter) {
    throw UserError("{}: \"answer\" is \"{}\", but must name one of up to ten options", where,
                    right);
  }
  return task;
}

std::vector<Task> read_tasks(const std::filesystem::path& file,
                             Task (*read_row)(const Json&, const std::string&)) {
  std::vector<Task> tasks;
  for_each_row(file, [&](const Json& row, const std::string& where) {
    tasks.push_back(read_row(row, where));
  });
  return tasks;
}

/// The first `shots` of each category.
std::map<std::string, std::vector<Task>> read_shots(const TurnSetConfig& config,
                                                    Task (*read_row)(const Json&,
                                                                     const std::string&)) {
  std::map<std::string, std::vector<Task>> shots;
  if (config.shots == 0) return shots;
  for (Task& task : read_tasks(config.shots_file, read_row)) {
    auto& some = shots[task.category];
    if (std::ssize(some) < config.shots && !is_blank(task.answer)) some.push_back(std::move(task));
  }
  return shots;
}

/// The task's category's shots, at least config.shots.
const std::vector<Task>& shots_of(const std::map<std::string, std::vector<Task>>& shots,
                                  const Task& task, const TurnSetConfig& config) {
  static const std::vector<Task> none;
  if (config.shots == 0) return none;
  const auto found = shots.find(task.category);
  const int64_t count = found == shots.end() ? 0 : std::ssize(found->second);
  if (count < config.shots) {
    throw UserError("{}: has {} worked examples{}, turns.shots asks for {}",
                    config.shots_file.string(), count,
                    task.category.empty() ? "" : " of the category " + task.category, config.shots);
  }
  return found->second;
}

EvalTurn turn_of(const Task& task) {
  EvalTurn turn{task.id, {}, task.question, {}};
  turn.question = task.words;
  turn.category = task.category;
  turn.right_answer = task.right;
  return turn;
}

void add_round(EvalTurn& turn, const std::string& question, const std::string& answer) {
  turn.history.push_back({"user", question});
  turn.history.push_back({"assistant", answer});
}

}  // namespace

TurnSet read_gsm8k(const TurnSetConfig& config) {
  const auto shots = read_shots(config, read_gsm8k_row);
  TurnSet set;
  for (const Task& task : read_tasks(config.file, read_gsm8k_row)) {
    EvalTurn turn = turn_of(task);
    std::string before;
    for (const Task& shot : shots_of(shots, task, config)) {
      if (config.streams == Streams::kQuestion) add_round(turn, shot.question, shot.answer);
      before += fmt::format("Question: {}\nAnswer: {}\n\n", shot.question, shot.answer);
    }
    if (config.streams == Streams::kPrompt) {
      turn.prompt_text = before + "Question: " + task.question + "\nAnswer:";
    }
    set.turns.push_back(std::move(turn));
  }
  return set;
}

TurnSet read_mmlu_pro(const TurnSetConfig& config) {
  const auto shots = read_shots(config, read_mmlu_pro_row);
  TurnSet set;
  for (const Task& task : read_tasks(config.file, read_mmlu_pro_row)) {
    EvalTurn turn = turn_of(task);
    turn.instruction = fmt::format(
        "The following are multiple choice questions (with answers) about {}. Think step by step "
        "and then finish your answer with \"the answer is (X)\" where X is the correct letter "
        "choice.",
        task.category);
    std::string before = turn.instruction + "\n\n\n\n";
    for (const Task& shot : shots_of(shots, task, config)) {
      // The answer begins with "A: Let's think step by step."
      const size_t mark = shot.answer.starts_with("A: ") ? 3 : 0;
      const std::string answer = shot.answer.substr(mark);
      if (config.streams == Streams::kQuestion) add_round(turn, shot.question, answer);
      before += shot.question + "\nAnswer: " + answer + "\n\n";
    }
    if (config.streams == Streams::kPrompt) {
      turn.instruction.clear();
      turn.prompt_text = before + task.question + "\nAnswer: Let's think step by step.";
    }
    set.turns.push_back(std::move(turn));
  }
  return set;
}

}  // namespace predgen::evaluate
