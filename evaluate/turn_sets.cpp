#include "evaluate/turn_sets.h"

#include "core/error.h"
#include "core/json.h"
#include "core/random.h"
#include "core/text.h"
#include "data/conversation.h"
#include "data/corpus_row.h"
#include "data/example_builder.h"
#include "data/held_out.h"
#include "evaluate/exam_sets.h"
#include "evaluate/json_rows.h"
#include "evaluate/tool_turns.h"
#include "hear/transcripts/recorded_source.h"

namespace predgen::evaluate {
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

}  // namespace predgen::evaluate
