#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/config.h"

namespace predgen::evaluate {

/// A model that grades answers, behind an OpenAI-compatible API or in a folder.
struct JudgeConfig {
  bool exists() const { return !prompts.empty(); }
  bool is_local() const { return !folder.empty(); }

  std::string endpoint;          // https://api.openai.com/v1, say
  std::string model;             // as the endpoint names it
  std::filesystem::path folder;  // instead of both: a model's, run here
  std::string key_variable;      // the environment variable that holds the key; empty: none is sent
  std::filesystem::path prompts;     // rows as FastChat's judge_prompts.jsonl (JudgePrompts)
  std::filesystem::path references;  // rows as FastChat's reference_answer/*.jsonl; empty: none
  std::filesystem::path cache;       // a folder; empty: judge_cache in the output
  bool grades = true;                // each answer from 1 to 10
  bool pairs = true;                 // each against the baseline's, in both orders
  int64_t max_calls = 0;             // allowed without --judge-yes
  double calls_per_minute = 0;       // 0: one after the other
  int64_t max_reply_tokens = 2048;
  int64_t retries = 5;           // of a call that fails temporarily
  double timeout_seconds = 120;  // of a call
};

/// The section `judge`.
JudgeConfig read_judge_config(ConfigReader judge);

}  // namespace predgen::evaluate
