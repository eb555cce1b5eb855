#include <c10/core/InferenceMode.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "cli/command.h"
#include "cli/input_rows.h"
#include "cli/model_setup.h"
#include "cli/setting_flags.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/log.h"
#include "core/stop.h"
#include "data/past_answers.h"
#include "runtime/generate/answer_constraint.h"
#include "runtime/generate/generation_defaults.h"
#include "runtime/generate/make_generator.h"
#include "runtime/generate/model_source.h"
#include "runtime/generate/token_constraint.h"
#include "text/grammar/grammar_compiler.h"
#include "text/streaming_text.h"
#include "text/thoughts.h"
#include "text/tokenizer.h"

namespace predgen::cli {
namespace {

constexpr const char* kGenerateExamples =
    "Examples:\n"
    "  predgen generate --model smollm2 --user 'What is a fjord?'\n"
    "  predgen generate --model checkpoints/demo --prompt 'The weather' --max-new-tokens 32\n"
    "  predgen generate --model checkpoints/demo --messages chat.json --decoder jacobi --json\n"
    "  predgen generate --model smollm2 --user 'A name for a cat?' --regex '[A-Z][a-z]{2,8}'\n"
    "  predgen generate --model checkpoints/demo --token-ids 1,2,3 --temperature 0.7 --seed 1";

struct GenerateOptions {
  ModelOptions model;
  std::optional<std::string> prompt, user;
  std::string messages, token_ids, input, chat_template, draft_model, past_answers;
  std::string json_schema, regex, grammar;
  int64_t max_new_tokens = 256;
  GeneratorConfig decoder;
  std::optional<int64_t> block_size;
  SamplingFlags sampling;
  RawPromptOptions raw_prompt;
  bool json = false;
};

std::vector<InputRow> read_rows(const GenerateOptions& options) {
  const int given = options.prompt.has_value() + options.user.has_value() +
                    !options.messages.empty() + !options.token_ids.empty() + !options.input.empty();
  if (given != 1) {
    throw UserError("generate: give one of --user, --prompt, --messages, --token-ids and --input");
  }
  if (!options.input.empty()) return read_input_rows(options.input);
  if (!options.messages.empty()) return {read_messages(options.messages)};
  InputRow row;
  row.prompt = options.prompt;
  if (options.user) row.messages.emplace().push_back({.role = "user", .content = *options.user});
  if (!options.token_ids.empty()) row.token_ids = parse_token_ids(options.token_ids);
  return {row};
}

/// What the answers' text must be; nullopt: anything.
std::optional<AnswerForm> answer_form(const GenerateOptions& options) {
  using Kind = AnswerForm::Kind;
  const int given =
      !options.json_schema.empty() + !options.regex.empty() + !options.grammar.empty();
  if (given == 0) return std::nullopt;
  if (given > 1) throw UserError("generate: give one of --json-schema, --regex and --grammar");
  if (!options.regex.empty()) {
    return AnswerForm{.kind = Kind::kRegex, .text = options.regex, .name = "--regex"};
  }
  const bool is_schema = options.grammar.empty();
  const std::string& file = is_schema ? options.json_schema : options.grammar;
  return AnswerForm{.kind = is_schema ? Kind::kJsonSchema : Kind::kEbnf,
                    .text = read_file(file),
                    .name = fmt::format("{} {}", is_schema ? "--json-schema" : "--grammar", file)};
}

/// Of each row; null: anything.
std::vector<std::shared_ptr<const Grammar>> compile_grammars(const GenerateOptions& options,
                                                             const std::vector<InputRow>& rows,
                                                             const std::vector<TokenIds>& prompts,
                                                             const Tokenizer* tokenizer) {
  const std::optional<AnswerForm> form = answer_form(options);
  std::vector<std::shared_ptr<const Grammar>> grammars(rows.size());
  std::optional<GrammarCompiler> compiler;
  for (size_t i = 0; i < rows.size(); ++i) {
    const serve::ToolChoice& choice = rows[i].tool_choice;
    AnswerRules rules{.form = form, .tools = rows[i].tools, .only_tool = choice.only};
    if (choice.kind == serve::ToolChoice::Kind::kRequired) {
      rules.calls = AnswerRules::Calls::kRequired;
    }
    if (rules.allow_anything()) continue;
    if (tokenizer == nullptr) {
      throw UserError("{}: the model has no tokenizer, which a form of answers needs", form->name);
    }
    if (rows[i].messages) rules.start = answer_start(*tokenizer, prompts[i]);
    if (!compiler) compiler.emplace(*tokenizer);
    grammars[i] = compiler->compile(rules);
  }
  return grammars;
}

/// Where a prompt is from, for errors.
std::string place_of(const GenerateOptions& options, const InputRow& row) {
  if (!options.input.empty()) return fmt::format("{}: row {}", options.input, row.number);
  if (options.prompt) return "--prompt";
  if (options.user) return "--user";
  return options.messages.empty() ? "--token-ids" : options.messages;
}

/// Ids only need no tokenizer, but have text if there is one.
std::unique_ptr<Tokenizer> find_tokenizer(const Checkpoint& checkpoint,
                                          const std::string& chat_template,
                                          const std::vector<InputRow>& rows) {
  const bool needed = std::ranges::any_of(rows, [](const auto& row) { return !row.token_ids; });
  return needed || checkpoint.has_tokenizer()
             ? load_tokenizer(checkpoint.read_tokenizer(chat_template))
             : nullptr;
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
  double seconds = 0;
  std::optional<int64_t> draft_passes{};  // nothing: there is no draft model
};

Json to_json(const Answer& answer) {
  return {{"token_ids", answer.ids},
          {"text", answer.text},
          {"num_forward_passes", answer.result.num_forward_passes},
          {"num_draft_model_passes", answer.draft_passes.value_or(0)},
          {"stop_reason", to_string(answer.result.stop_reason)}};
}

void log(const Answer& answer) {
  const GenerationResult& result = answer.result;
  spdlog::info(
      "{} tokens in {} forward passes{}, {:.2f} s, {:.1f} tokens/s ({})", result.num_new_tokens,
      result.num_forward_passes,
      answer.draft_passes ? fmt::format(" and {} of the draft model", *answer.draft_passes) : "",
      answer.seconds, static_cast<double>(result.num_new_tokens) / answer.seconds,
      to_string(result.stop_reason));
}

/// `show` gets text as it becomes complete.
Answer generate_row(Engine& engine, const GeneratorConfig& decoder, const GenerationConfig& config,
                    const TokenIds& prompt, const Tokenizer* tokenizer,
                    const std::function<void(const std::string&)>& show,
                    const std::stop_token& stop) {
  const auto length = static_cast<int64_t>(prompt.size());
  Sequence sequence = engine.make_sequence(length + config.max_new_tokens);
  sequence.append(prompt);
  Answer answer;
  std::optional<StreamingText> text;
  if (tokenizer) text.emplace(*tokenizer);
  answer.result =
      make_generator(decoder, engine)->generate(sequence, {}, config, [&](TokenSpan tokens) {
        throw_if_stopped(stop);
        if (text) show(text->push(known_ids(tokens, *tokenizer)));
        return true;
      });
  answer.ids.assign(sequence.tokens().begin() + length, sequence.tokens().end());
  if (text) {
    const bool is_whole = answer.result.stop_reason == StopReason::kStopToken;
    show(text->finish(is_whole ? TextEnd::kWhole : TextEnd::kCut));
    answer.text = text->text();
  }
  return answer;
}

void run_generate(const GenerateOptions& options, const std::stop_token& stop) {
  const c10::InferenceMode inference;
  const std::vector<InputRow> rows = read_rows(options);
  const std::unique_ptr<const Checkpoint> checkpoint = open_checkpoint(options.model.model);
  const std::unique_ptr<Tokenizer> tokenizer =
      find_tokenizer(*checkpoint, options.chat_template, rows);
  const std::unique_ptr<const Checkpoint> draft_checkpoint =
      open_draft_model(options.draft_model, *checkpoint, tokenizer.get());
  const std::shared_ptr<Transformer> model =
      set_up_model(*checkpoint, options.model, /*prepares_passes=*/true, {}, options.draft_model);
  Engine engine(model);
  const GenerationSettings settings = checkpoint->read_generation();
  const GenerationDefaults defaults = read_generation_defaults(settings);
  GeneratorConfig decoder = options.decoder;
  decoder.seed = options.sampling.seed;
  std::optional<Engine> draft;
  if (const auto drafting = set_up_draft_model(draft_checkpoint.get(), *model, options.model)) {
    decoder.draft_model = &draft.emplace(drafting);
    decoder.sources = {draft_source_of(*draft)};
  }
  if (!options.past_answers.empty()) {
    if (!tokenizer) throw UserError("--past-answers: the model has no tokenizer to read them with");
    decoder.past_answers = data::read_past_answers(options.past_answers, *tokenizer);
    decoder.sources.insert(decoder.sources.begin(), "past_answers");  // the cheaper one
  }
  if (options.block_size) decoder.block_size = *options.block_size;
  const bool chooses_window = decoder.name == "jacobi" && !options.block_size;
  if (!decoder.sources.empty() || !engine.model().mask_tokens().empty() || chooses_window)
    measure_costs(decoder, engine);
  std::shared_ptr<const Sampler> sampler;
  if (const auto drawn = options.sampling.parse(settings)) {
    sampler = std::make_shared<Sampler>(*drawn);
  }
  make_generator(decoder, engine);  // a bad option fails before the first row

  std::vector<TokenIds> prompts;
  for (const InputRow& row : rows) {
    prompts.push_back(input_ids(row, tokenizer.get(), options.raw_prompt));
    check_token_ids(prompts.back(), *model, place_of(options, row));
  }
  const std::vector<std::shared_ptr<const Grammar>> grammars =
      compile_grammars(options, rows, prompts, tokenizer.get());
  const auto show = [&](const std::string& text) {
    if (options.json || text.empty()) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
  const SystemClock clock(stop);
  Json results = Json::array();
  for (size_t i = 0; i < rows.size(); ++i) {
    GenerationConfig config{
        .max_new_tokens = options.max_new_tokens,
        .stop_tokens = rows[i].messages ? tokenizer->stop_tokens() : defaults.stop_tokens,
        .sampler = sampler,
        .answer_begin = std::ssize(prompts[i]),
        .should_stop = [&] {
          throw_if_stopped(stop);
          return false;
        }};
    if (grammars[i]) {
      config.constraint = std::make_shared<AnswerConstraint>(
          std::make_shared<GrammarConstraint>(grammars[i], *tokenizer), config.stop_tokens,
          tokenizer->vocab_size());
    }
    const int64_t draft_before = draft ? draft->num_forward_passes() : 0;
    const Seconds start = clock.now();
    Answer answer = generate_row(engine, decoder, config, prompts[i], tokenizer.get(), show, stop);
    answer.seconds = (clock.now() - start).count();
    if (draft) answer.draft_passes = draft->num_forward_passes() - draft_before;
    if (options.json) {
      results.push_back(to_json(answer));
      continue;
    }
    if (!tokenizer) show(fmt::format("{}", fmt::join(answer.ids, ",")));
    show("\n");
    log(answer);
    if (answer.text.empty() && rows[i].prompt) {
      spdlog::info("the model ended this raw text at once: --user asks as a person does");
    }
  }
  if (options.json) std::printf("%s\n", to_text({{"results", std::move(results)}}).c_str());
}

}  // namespace

void add_generate(CLI::App& app, const std::stop_token& stop) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand("generate", "Continue prompts, conversations or ids");
  options->model.add_to(*command);
  command->add_option("--user", options->user, "what a user says, through the chat template");
  command->add_option("--prompt", options->prompt, "raw text, which the model continues");
  command->add_option(
      "--messages", options->messages,
      "JSON file: messages as serve takes them, a list or with \"tools\" in an object");
  command->add_option("--token-ids", options->token_ids, "ids like 1,2,3");
  command->add_option("--input", options->input,
                      "JSON lines with \"prompt\", \"messages\" or \"token_ids\"");
  add_chat_template(*command, options->chat_template);
  add_flags(*command, {max_new_tokens_setting(options->max_new_tokens),
                       decoder_setting(options->decoder.name)});
  command->add_option("--block-size", options->block_size,
                      "tokens in the jacobi window; default: as many as pay here, at most 16");
  add_flags(*command, draft_settings(options->draft_model, options->past_answers));
  command->add_option("--json-schema", options->json_schema,
                      "file with a JSON schema: answers are JSON that it allows");
  command->add_option("--regex", options->regex, "answers match this regular expression");
  command->add_option("--grammar", options->grammar,
                      "file with a grammar, as GBNF has it: answers are in its language");
  options->sampling.add_to(*command, "--top-k");
  command->add_flag("--json", options->json, "one JSON document on stdout");
  options->raw_prompt.add_to(*command);
  command->footer(kGenerateExamples);
  command->callback([options, stop] { run_generate(*options, stop); });
}

}  // namespace predgen::cli
