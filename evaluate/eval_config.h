#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/setting.h"
#include "data/build_config.h"
#include "evaluate/method.h"
#include "runtime/converse/session_options.h"
#include "runtime/converse/tool_round_options.h"
#include "voice/make_voice.h"

namespace predgen::evaluate {

/// Where turns come from. kConversations: JSONL or Parquet that `predgen data build` reads, earlier
/// rounds are the history. kPrompts: rows {"prompt": text} or {"text": text}. kRecordedAsr: what
/// read_recordings() reads. kMtBench: FastChat's question.jsonl; a question's turns follow each
/// other (EvalTurn::continues). kGsm8k, kMmluPro: the published JSONL files; turns have a right
/// answer. kTools: requests for which the model calls simulated tools (read_tool_turns()).
enum class TurnSetKind {
  kConversations,
  kPrompts,
  kRecordedAsr,
  kMtBench,
  kGsm8k,
  kMmluPro,
  kTools
};

/// What the user is assumed to say in a set with right answers.
enum class Streams {
  kQuestion,  // the question and its options; an instruction is in the system message, examples are
              // earlier rounds
  kPrompt     // the public graders' whole prompt: instruction, examples and the cue at its end
};

/// A half of a set: settings are chosen by one, and the other one is reported.
enum class Half { kAll, kChoose, kReport };

struct TurnSetConfig {
  TurnSetKind kind = TurnSetKind::kPrompts;
  std::filesystem::path file{};
  int64_t count = 0, min_characters = 1, seed = 0;

  // Of conversations.
  bool first_round_only = false;
  data::FilterConfig filters{};  // languages, redacted and flagged ones
  double held_out_fraction = 0;  // above 0: only those that `predgen data build` keeps out
  int64_t held_out_seed = 0;     // of its training data with this fraction and seed

  // Of sets with right answers.
  Streams streams = Streams::kQuestion;
  int64_t shots = 0;
  std::filesystem::path shots_file{};

  // Of sets with tools.
  std::filesystem::path tools_file{};
  double tool_seconds = 0;
  Half half = Half::kAll;
  std::vector<std::string> sources{};
};

/// The section `turns`: what all kinds of sets have.
Settings settings_of(TurnSetConfig& config);
/// And what only this kind has; keys of others count as unknown.
Settings settings_of_kind(TurnSetConfig& config);

enum class EvalClock { kReal, kVirtual };

/// Everything that configs/eval/*.yaml may say; settings_of() says what it means.
struct EvalConfig {
  std::vector<std::filesystem::path> models;  // one at least; each is run by each cost
  std::filesystem::path adapter, draft_model, past_answers, chat_template, output;
  std::vector<std::string> methods{"baseline", "greedy"};
  std::string system_prompt = "none";  // the same in every method
  TurnSetConfig turns;
  std::vector<std::string> training_data;

  double characters_per_minute = 600, end_of_turn_wait = 0;

  EvalClock clock = EvalClock::kVirtual;
  std::vector<std::string> costs{"wall_clock"};  // of cost_names(); each is a run of its own
  double seconds_per_pass = 0.027, seconds_per_token = 0, seconds_per_draft_pass = 0;
  double cost_parameters = 0, seconds_to_first_audio = 0.1, seconds_per_character = 0;
  VoiceOptions voice;  // with a voice, answer.wav is the first turn's answer
  bool same_device = false;

  TurnConfig turn;         // `work` is the method's
  SessionOptions session;  // judged_sentences and pass_tokens of it
  ToolRoundOptions tools;  // early_calls of methods with early calls alone
  int64_t candidates = 0, tree_tokens = 0, branches = 0;
  int64_t draft_width = 16, jacobi_block_size = 16;

  std::string device = "auto", dtype = "auto", quantize = "none";
  int64_t threads = 0, workers = 1;
};

/// All but the keys of one kind of turns, and of voices.
Settings settings_of(EvalConfig& config);
EvalConfig read_eval_config(ConfigReader& reader);

/// Whether any of the methods has `part`: &Method::adapter, ..
bool any_method(const EvalConfig& config, bool Method::*part);

}  // namespace predgen::evaluate
