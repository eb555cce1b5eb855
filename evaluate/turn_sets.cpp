#include "evaluate/turn_sets.h"

#include <fstream>
#include <map>

#include "core/error.h"
#include "core/json.h"
#include "core/random.h"
#include "core/text.h"
#include "data/conversation.h"
#include "data/corpus_row.h"
#include "data/example_builder.h"
#include "data/held_out.h"
#include "evaluate/tool_turns.h"
#include "hear/transcripts/scheduled_source.h"

namespace predgen::evaluate {

void for_each_row(const std::filesystem::path& file,
                  const std::function<void(const Json& row, const std::string& where)>& use) {
  if (!std::filesystem::exists(file)) throw data::missing_data(file);
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file)) {
    throw UserError("{}: cannot be read", file.string());
  }
  std::string line;
  for (int64_t number = 1; std::getline(stream, line); ++number) {
    if (is_blank(line)) continue;
    const std::string where = fmt::format("{}:{}", file.string(), number);
    use(parse_json(line, where), where);
  }
}

namespace {

std::string trim(const std::string& text) { return std::string(trimmed(text, " \t\r\n")); }

bool takes_turns(const std::vector<Message>& messages) {
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != (i % 2 == 0 ? "user" : "assistant")) return false;
  }
  return true;
}

void add_rounds(const data::CorpusConversation& conversation, bool first_round_only, TurnSet& set) {
  const std::vector<Message>& messages = conversation.messages;
  for (size_t i = 0; i < messages.size() && !(first_round_only && i > 0); i += 2) {
    const std::string prompt = trim(messages[i].content);
    if (prompt.empty()) continue;
    set.turns.push_back({fmt::format("{}/{}", conversation.id, i / 2),
                         {messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(i)},
                         prompt,
                         {},
                         i + 1 < messages.size() ? messages[i + 1].content : ""});
  }
}

/// What the builder kept out of these files.
data::HeldOutShare held_out_share(const TurnSetConfig& config,
                                  const std::vector<std::filesystem::path>& files) {
  data::HeldOutShare share(static_cast<uint64_t>(config.held_out_seed), config.held_out_fraction);
  bool goes_on = true;
  for (auto file = files.begin(); goes_on && file != files.end(); ++file) {
    const auto reader = data::open_conversations(*file, data::BadRows::kFail);
    data::CorpusConversation conversation;
    while (goes_on && reader->next(conversation)) goes_on = share.count(conversation);
  }
  share.decide();
  return share;
}

TurnSet read_conversations(const TurnSetConfig& config) {
  TurnSet set;
  const std::vector<std::filesystem::path> files = data::expand_globs({config.file.string()});
  const data::HeldOutShare held_out = held_out_share(config, files);
  int64_t num_filtered = 0;
  for (const std::filesystem::path& file : files) {
    const auto reader = data::open_conversations(file, data::BadRows::kFail);
    data::CorpusConversation conversation;
    while (reader->next(conversation)) {
      if (config.held_out_fraction > 0 && !held_out.holds(conversation)) continue;
      if (data::check_filters(conversation, config.filters)) {
        ++num_filtered;
      } else if (conversation.fault) {
        set.skipped.push_back(conversation.id + ": " + data::drop_name(*conversation.fault));
      } else if (!takes_turns(conversation.messages)) {
        set.skipped.push_back(conversation.id + ": user and assistant do not take turns");
      } else {
        add_rounds(conversation, config.first_round_only, set);
      }
    }
  }
  if (num_filtered > 0) {
    set.skipped.push_back(fmt::format("{} conversations: turns.filters", num_filtered));
  }
  return set;
}

TurnSet read_prompts(const std::filesystem::path& file) {
  TurnSet set;
  for_each_row(file, [&](const Json& row, const std::string& where) {
    const std::string id = row.contains("id") ? json_get<std::string>(row, "id", where)
                                              : fmt::format("{}", set.turns.size() + 1);
    const char* key = data::prompt_key(row);
    const std::string prompt = trim(json_get<std::string>(row, key, where));
    if (prompt.empty()) throw UserError("{}: \"{}\" is blank", where, key);
    EvalTurn& turn = set.turns.emplace_back();
    turn.id = id;
    turn.prompt_text = prompt;
    const bool has_source = row.contains("source") && !row["source"].is_null();
    if (has_source) turn.source = json_get<std::string>(row, "source", where);
  });
  return set;
}

TurnSet read_mt_bench(const std::filesystem::path& file) {
  TurnSet set;
  for_each_row(file, [&](const Json& row, const std::string& where) {
    const auto turns = json_get<std::vector<std::string>>(row, "turns", where);
    if (turns.empty()) throw UserError("{}: \"turns\" is empty", where);
    const auto id = json_get<int64_t>(row, "question_id", where);
    for (size_t i = 0; i < turns.size(); ++i) {
      set.turns.push_back(
          {fmt::format("{}/{}", id, i), {}, trim(turns[i]), {}, "", /*continues=*/i > 0});
    }
  });
  return set;
}

TurnSet read_recorded_asr(const std::filesystem::path& file) {
  TurnSet set;
  Recordings recordings = read_recordings(file);
  for (Recording& recording : recordings.recordings) {
    const std::string prompt = recording.transcripts.back().text;
    if (prompt.empty()) {
      recordings.empty.push_back(recording.id);
      continue;
    }
    EvalTurn& turn = set.turns.emplace_back();
    turn.id = recording.id;
    turn.prompt_text = prompt;
    turn.recorded = std::move(recording.transcripts);
    turn.voice = std::move(recording.voice);
  }
  for (const std::string& id : recordings.empty) set.skipped.push_back(id + ": nothing was heard");
  return set;
}

TurnSet read_all(const TurnSetConfig& config) {
  switch (config.kind) {
    case TurnSetKind::kConversations:
      return read_conversations(config);
    case TurnSetKind::kPrompts:
      return read_prompts(config.file);
    case TurnSetKind::kRecordedAsr:
      return read_recorded_asr(config.file);
    case TurnSetKind::kMtBench:
      return read_mt_bench(config.file);
    case TurnSetKind::kGsm8k:
      return read_gsm8k(config);
    case TurnSetKind::kMmluPro:
      return read_mmlu_pro(config);
    case TurnSetKind::kTools:
      return read_tool_turns(config);
  }
  throw Error("unknown kind of turn set {}", static_cast<int>(config.kind));
}

/// Each with the turns that continue it.
using Conversations = std::vector<std::vector<EvalTurn>>;

Conversations conversations_of(std::vector<EvalTurn> turns) {
  Conversations conversations;
  for (EvalTurn& turn : turns) {
    if (!turn.continues) conversations.emplace_back();
    conversations.back().push_back(std::move(turn));
  }
  return conversations;
}

std::vector<EvalTurn> turns_of(const Conversations& conversations) {
  std::vector<EvalTurn> turns;
  for (const auto& some : conversations) turns.insert(turns.end(), some.begin(), some.end());
  return turns;
}

}  // namespace

TurnSet load_turns(const TurnSetConfig& config) {
  TurnSet set = read_all(config);
  Conversations conversations = conversations_of(std::move(set.turns));
  std::erase_if(conversations, [&](const std::vector<EvalTurn>& turns) {
    return count_characters(turns.front().prompt_text) < config.min_characters;
  });
  set.turns = turns_of(conversations);
  const int64_t found = static_cast<int64_t>(set.turns.size());
  if (found == 0 || config.count > found) {
    throw UserError(
        "{} has {} turns of at least {} characters: lower turns.count ({}) or "
        "turns.min_characters",
        config.file.string(), found, config.min_characters, config.count);
  }
  if (config.count > 0) {
    Random random(static_cast<uint64_t>(config.seed), "eval turns");
    random.shuffle(conversations);
    set.turns = turns_of(conversations);
    set.turns.resize(static_cast<size_t>(config.count));
  }
  return set;
}

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
