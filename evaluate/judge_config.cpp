#include "evaluate/judge_config.h"

namespace predgen::evaluate {

JudgeConfig read_judge_config(ConfigReader judge) {
  JudgeConfig config;
  judge.optional("endpoint", config.endpoint);
  judge.optional("model", config.model);
  judge.optional("folder", config.folder);
  judge.optional("key_variable", config.key_variable);
  judge.required("prompts", config.prompts);
  judge.optional("references", config.references);
  judge.optional("cache", config.cache);
  judge.optional("grades", config.grades);
  judge.optional("pairs", config.pairs);
  judge.optional("max_calls", config.max_calls, int64_t{0}, int64_t{1'000'000});
  judge.optional("calls_per_minute", config.calls_per_minute, 0.0, 1e6);
  judge.optional("max_reply_tokens", config.max_reply_tokens, int64_t{1}, int64_t{100'000});
  judge.optional("retries", config.retries, int64_t{0}, int64_t{20});
  judge.optional("timeout_seconds", config.timeout_seconds, 0.1, 3600.0);
  const bool is_address =
      config.endpoint.starts_with("http://") || config.endpoint.starts_with("https://");
  if (config.is_local() == !config.endpoint.empty() || config.is_local() == !config.model.empty()) {
    judge.problem("endpoint", "give endpoint and model, or the folder of a model alone");
  } else if (!config.is_local() && !is_address) {
    judge.problem("endpoint", "begins with http:// or https://");
  }
  while (config.endpoint.ends_with('/')) config.endpoint.pop_back();
  if (!config.grades && !config.pairs) judge.problem("grades", "ask for grades, pairs or both");
  return config;
}

}  // namespace predgen::evaluate
