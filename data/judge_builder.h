#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/json.h"
#include "data/answering_config.h"
#include "data/build_config.h"
#include "runtime/engine/engine.h"
#include "text/tokenizer.h"

namespace predgen::data {

/// configs/data/*_judge.yaml.
struct JudgeBuildConfig : AnsweringConfig {
  std::vector<std::string> sources;    // as BuildConfig's
  std::string system_prompt = "none";  // of the conversations: none, table3 or a text
  HeldOutConfig held_out;              // files only
  int64_t rounds = 2000;               // drawn from all conversations, at most one of each
  int64_t cuts = 3;                    // of each prompt, between its words, besides the whole one
  int64_t max_answer_tokens = 48;      // a longer first sentence counts as far as that

  static JudgeBuildConfig read(ConfigReader& reader);
};

/// `predgen data judge`: what an adapter learns from to answer judge_question(). The model answers
/// prompts greedily, whole and cut. For every two of one round there is a question, with the words
/// of the longer one and the first sentence of the answer to the shorter one; the reply is "yes" if
/// the longer one's answer has the same first sentence, else "no". As many of both are kept.
/// Writes a dataset to config.output, the reply being the target; does nothing if it is there.
/// Returns its manifest. `model_hash` names the weights in the recipe. Interrupted between passes;
/// it starts anew then. UserError if the sources have no prompt to cut, or the tokenizer writes
/// "yes" or "no" in several tokens: the verifier reads one.
Json build_judge_dataset(const JudgeBuildConfig& config, const std::string& model_hash,
                         const Tokenizer& tokenizer, Engine& engine, const std::stop_token& stop);

}  // namespace predgen::data
