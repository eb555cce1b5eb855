#include <c10/core/InferenceMode.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "cli/command.h"
#include "cli/input_rows.h"
#include "cli/model_setup.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/json.h"
#include "core/log.h"
#include "runtime/generate/generation_defaults.h"
#include "runtime/generate/make_generator.h"
#include "text/streaming_text.h"
#include "text/tokenize/tokenizer_files.h"
#include "text/tokenizer.h"

namespace predgen {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  predgen generate --model checkpoints/demo --prompt 'The weather' --max-new-tokens 32\n"
    "  predgen generate --model checkpoints/demo --messages chat.json --decoder jacobi --json\n"
    "  predgen generate --model checkpoints/demo --token-ids 1,2,3 --temperature 0.7 --seed 1";

struct GenerateOptions {
  ModelOptions model;
  std::string prompt, messages, token_ids, input, chat_template;
  int64_t max_new_tokens = 256;
  GeneratorConfig decoder;
  std::optional<double> temperature, top_p, repetition_penalty;
  std::optional<int64_t> top_k;
  uint64_t seed = 0;
  RawPromptOptions raw_prompt;
  bool json = false;
};

std::vector<InputRow> read_rows(const GenerateOptions& options, bool has_prompt) {
  const int given =
      has_prompt + !options.messages.empty() + !options.token_ids.empty() + !options.input.empty();
  if (given != 1) {
    throw UserError("generate: give one of --prompt, --messages, --token-ids and --input");
  }
  if (!options.input.empty()) return read_input_rows(options.input);
  InputRow row;
  if (has_prompt) row.prompt = options.prompt;
  if (!options.messages.empty()) row.messages = read_messages(options.messages);
  if (!options.token_ids.empty()) row.token_ids = parse_token_ids(options.token_ids);
  return {row};
}

/// Greedy unless a sampling option was given; then the model's folder fills in the others.
std::optional<SamplingConfig> sampling(const GenerateOptions& options,
                                       const GenerationDefaults& defaults) {
  const bool samples = options.temperature || options.top_k || options.top_p;
  if (!samples || options.temperature == 0.0) {
    if (options.repetition_penalty) {
      throw UserError("--repetition-penalty: belongs to sampling; give --temperature too");
    }
    return std::nullopt;
  }
  if (!defaults.not_honoured.empty()) {
    throw UserError("{}/generation_config.json: \"{}\" is not supported in sampling: remove it",
                    options.model.model, defaults.not_honoured);
  }
  SamplingConfig config;
  config.repetition_penalty = options.repetition_penalty.value_or(
      defaults.repetition_penalty.value_or(config.repetition_penalty));
  config.temperature =
      options.temperature.value_or(defaults.temperature.value_or(config.temperature));
  config.top_k = options.top_k.value_or(defaults.top_k.value_or(config.top_k));
  config.top_p = options.top_p.value_or(defaults.top_p.value_or(config.top_p));
  config.seed = options.seed;
  config.validate();
  return config;
}

/// Ids only need no tokenizer, but have text if there is one.
std::unique_ptr<Tokenizer> find_tokenizer(const GenerateOptions& options,
                                          const std::vector<InputRow>& rows) {
  const std::filesystem::path folder = options.model.model;
  const bool needed = std::ranges::any_of(rows, [](const auto& row) { return !row.token_ids; });
  return needed || has_tokenizer(folder) ? load_tokenizer(folder, options.chat_template) : nullptr;
}

/// The model's vocabulary may be padded beyond the tokenizer's.
TokenIds known_ids(TokenSpan tokens, const Tokenizer& tokenizer) {
  TokenIds known;
  std::ranges::copy_if(tokens, std::back_inserter(known),
                       [&](TokenId id) { return id < tokenizer.vocab_size(); });
  return known;
}

struct Answer {
  TokenIds ids;
  std::string text;
  GenerationResult result;
};

/// `show` gets text as it becomes complete.
Answer generate_row(Engine& engine, const GeneratorConfig& decoder, const GenerationConfig& config,
                    const TokenIds& prompt, const Tokenizer* tokenizer,
                    const std::function<void(const std::string&)>& show) {
  const auto length = static_cast<int64_t>(prompt.size());
  Sequence sequence = engine.make_sequence(length + config.max_new_tokens);
  sequence.append(prompt);
  Answer answer;
  std::optional<StreamingText> text;
  if (tokenizer) text.emplace(*tokenizer);
  answer.result =
      make_generator(decoder, engine)->generate(sequence, {}, config, [&](TokenSpan tokens) {
        throw_if_interrupted();
        if (text) show(text->push(known_ids(tokens, *tokenizer)));
        return true;
      });
  answer.ids.assign(sequence.tokens().begin() + length, sequence.tokens().end());
  if (text) {
    show(text->finish());
    answer.text = text->text();
  }
  return answer;
}

void run_generate(const GenerateOptions& options, bool has_prompt) {
  const c10::InferenceMode inference;
  if (options.max_new_tokens < 1) {
    throw UserError("--max-new-tokens is {}, but must be at least 1", options.max_new_tokens);
  }
  const std::vector<InputRow> rows = read_rows(options, has_prompt);
  const std::shared_ptr<const Transformer> model = set_up_model(options.model);
  Engine engine(model);
  const GenerationDefaults defaults = read_generation_defaults(options.model.model);
  const std::unique_ptr<Tokenizer> tokenizer = find_tokenizer(options, rows);
  GeneratorConfig decoder = options.decoder;
  decoder.seed = options.seed;
  decoder.sampling = sampling(options, defaults);
  make_generator(decoder, engine);  // a bad option fails before the first row

  std::vector<TokenIds> prompts;
  for (const InputRow& row : rows) {
    prompts.push_back(input_ids(row, tokenizer.get(), options.raw_prompt));
    check_token_ids(prompts.back(), *model, fmt::format("row {}", row.number));
  }
  const auto show = [&](const std::string& text) {
    if (options.json || text.empty()) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
  const SystemClock clock;
  Json results = Json::array();
  for (size_t i = 0; i < rows.size(); ++i) {
    const GenerationConfig config{
        .max_new_tokens = options.max_new_tokens,
        .stop_tokens = rows[i].messages ? tokenizer->stop_tokens() : defaults.stop_tokens};
    const Seconds start = clock.now();
    const Answer answer = generate_row(engine, decoder, config, prompts[i], tokenizer.get(), show);
    const double seconds = (clock.now() - start).count();
    const GenerationResult& result = answer.result;
    if (options.json) {
      results.push_back({{"token_ids", answer.ids},
                         {"text", answer.text},
                         {"num_forward_passes", result.num_forward_passes},
                         {"stop_reason", to_string(result.stop_reason)}});
      continue;
    }
    if (!tokenizer) show(fmt::format("{}", fmt::join(answer.ids, ",")));
    show("\n");
    spdlog::info("{} tokens in {} forward passes, {:.2f} s, {:.1f} tokens/s ({})",
                 result.num_new_tokens, result.num_forward_passes, seconds,
                 static_cast<double>(result.num_new_tokens) / seconds,
                 to_string(result.stop_reason));
  }
  if (options.json) std::printf("%s\n", Json{{"results", std::move(results)}}.dump().c_str());
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand("generate", "Continue prompts, conversations or ids");
  options->model.add_to(*command);
  CLI::Option* prompt = command->add_option("--prompt", options->prompt, "raw text");
  command->add_option("--messages", options->messages,
                      "JSON file: a list of {role, content}, through the chat template");
  command->add_option("--token-ids", options->token_ids, "ids like 1,2,3");
  command->add_option("--input", options->input,
                      "JSON lines with \"prompt\", \"messages\" or \"token_ids\"");
  add_chat_template(*command, options->chat_template);
  command->add_option("--max-new-tokens", options->max_new_tokens)->capture_default_str();
  command->add_option("--decoder", options->decoder.name, "ar, or jacobi for CLLM weights")
      ->capture_default_str();
  command->add_option("--block-size", options->decoder.block_size, "tokens in the jacobi window")
      ->capture_default_str();
  command->add_option("--temperature", options->temperature,
                      "draw tokens instead of the likeliest");
  command->add_option("--top-k", options->top_k, "draw among the k likeliest tokens; 0: all");
  command->add_option("--top-p", options->top_p,
                      "draw among the likeliest tokens that together have probability p");
  command->add_option("--repetition-penalty", options->repetition_penalty,
                      "in sampling: above 1, tokens that stood before become less likely");
  command->add_option("--seed", options->seed, "of the draws")->capture_default_str();
  command->add_flag("--json", options->json, "one JSON document on stdout");
  options->raw_prompt.add_to(*command);
  command->footer(kExamples);
  command->callback([options, prompt] { run_generate(*options, prompt->count() > 0); });
}

}  // namespace predgen
