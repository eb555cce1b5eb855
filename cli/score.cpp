#include "evaluate/score.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "cli/command.h"
#include "cli/input_rows.h"
#include "cli/model_setup.h"
#include "core/error.h"
#include "core/json.h"
#include "runtime/generate/assistant_source.h"
#include "runtime/generate/make_generator.h"
#include "runtime/generate/model_source.h"
#include "runtime/generate/mtp_source.h"
#include "tensors/safetensors.h"
#include "text/tokenizer.h"

namespace predgen::cli {
namespace {

struct ScoreOptions {
  ModelOptions model;
  std::string token_ids, input, chat_template, logits_file, guesses_file;
  std::string draft_model = kOwnLayer;
  RawPromptOptions raw_prompt;
  bool json = false;
};

struct Row {
  int64_t number = 1;  // line in the file
  TokenIds ids;
};

/// The tokenizer is loaded only for a row that needs it.
std::vector<Row> read_rows(const ScoreOptions& options, const Checkpoint& checkpoint) {
  if (options.token_ids.empty() == options.input.empty()) {
    throw UserError("score: give one of --token-ids and --input");
  }
  if (!options.token_ids.empty()) return {{1, parse_token_ids(options.token_ids)}};
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<Row> rows;
  for (const InputRow& row : read_input_rows(options.input)) {
    if (!row.token_ids && !tokenizer) {
      tokenizer = load_tokenizer(checkpoint.read_tokenizer(options.chat_template));
    }
    // Unlike a prompt, a conversation that is scored does not end with the generation prompt.
    rows.push_back({row.number, row.messages
                                    ? tokenizer->render_chat(*row.messages, false, row.tools)
                                    : input_ids(row, tokenizer.get(), options.raw_prompt)});
  }
  return rows;
}

Json to_json(const TokenIds& ids, const evaluate::RowScore& score) {
  Json logprobs = Json::array({nullptr});  // nothing comes before the first token
  for (const double logprob : score.logprobs) logprobs.push_back(logprob);
  return {{"token_ids", ids}, {"logprobs", std::move(logprobs)}};
}

void print_row(const Row& row, const evaluate::RowScore& score) {
  double total = 0.0;
  for (const double logprob : score.logprobs) total += logprob;
  const size_t count = score.logprobs.size();
  std::printf("row %lld: %zu tokens, log-probability %.4f", static_cast<long long>(row.number),
              row.ids.size(), total);
  if (count > 0) std::printf(", perplexity %.3f", std::exp(-total / static_cast<double>(count)));
  std::printf("\n");
}

/// Prints what quantisation costs: the same rows with the same weights in bfloat16.
void print_quantization_cost(const Checkpoint& checkpoint, ModelOptions options,
                             const std::vector<Row>& rows, double quantized_perplexity,
                             const std::stop_token& stop) {
  const std::string kind = std::exchange(options.quantize, "none");
  options.dtype = "bf16";
  const std::unique_ptr<Transformer> model =
      set_up_model(checkpoint, options, /*prepares_passes=*/false);
  std::vector<evaluate::RowScore> scores;
  for (const Row& row : rows)
    scores.push_back(evaluate::score_row(*model, row.ids, evaluate::KeepLogits::kNo, stop));
  const double full = evaluate::perplexity(scores);
  std::printf("all rows: perplexity %.4f in %s, %.4f in bf16: %+.2f %%\n", quantized_perplexity,
              kind.c_str(), full, 100 * (quantized_perplexity / full - 1));
}

/// What a model that reads another one's hidden states guesses after each token but the first,
/// int64 [T-1,4].
at::Tensor guesses_of(const std::shared_ptr<const Transformer>& model,
                      const std::shared_ptr<const Transformer>& drafter, const TokenIds& ids) {
  constexpr int64_t kGuesses = 4;
  Engine engine(model), drafts(drafter);
  Sequence sequence = engine.make_sequence(std::ssize(ids));
  sequence.append(ids);
  engine.run({.sequence = &sequence});
  std::unique_ptr<DraftSource> source;
  if (AssistantSource::can_use(drafts)) {
    source = std::make_unique<AssistantSource>(drafts, DraftWidth(kGuesses));
  } else {
    source = std::make_unique<MtpSource>(drafts, DraftWidth(kGuesses));
  }
  at::Tensor guesses = at::zeros({std::ssize(ids) - 1, kGuesses}, at::kLong);
  for (size_t length = 2; length <= ids.size(); ++length) {
    const auto found = source->propose(TokenSpan(ids).first(length), {}, {.stop_tokens = {}},
                                       {TokenTree(), kGuesses, &sequence});
    std::ranges::copy(found->front(),
                      guesses[static_cast<int64_t>(length) - 2].mutable_data_ptr<int64_t>());
  }
  return guesses;
}

void run_score(const ScoreOptions& options, const std::stop_token& stop) {
  const c10::InferenceMode inference;
  const std::unique_ptr<const Checkpoint> checkpoint = open_checkpoint(options.model.model);
  const std::vector<Row> rows = read_rows(options, *checkpoint);
  const bool guesses = !options.guesses_file.empty();
  if ((guesses || !options.logits_file.empty()) && rows.size() != 1) {
    throw UserError("--logits, --guesses: need exactly one row, not {}", rows.size());
  }
  const std::string draft_model = guesses ? options.draft_model : "";
  const std::unique_ptr<const Checkpoint> draft =
      open_draft_model(draft_model, *checkpoint, /*tokenizer=*/nullptr);
  std::shared_ptr<Transformer> model =
      set_up_model(*checkpoint, options.model, /*prepares_passes=*/false, {}, draft_model);
  const auto drafter = guesses ? set_up_draft_model(draft.get(), *model, options.model) : nullptr;
  for (const Row& row : rows) {
    check_token_ids(row.ids, *model,
                    options.input.empty() ? "--token-ids"
                                          : fmt::format("{}: row {}", options.input, row.number));
  }
  Json results = Json::array();
  std::vector<evaluate::RowScore> scores;
  for (const Row& row : rows) {
    const bool keep = !options.logits_file.empty();
    evaluate::RowScore score = evaluate::score_row(
        *model, row.ids, keep ? evaluate::KeepLogits::kYes : evaluate::KeepLogits::kNo, stop);
    if (guesses) {
      write_safetensors(options.guesses_file, {{"guesses", guesses_of(model, drafter, row.ids)}});
    }
    if (keep) write_safetensors(options.logits_file, {{"logits", score.logits_TV}});
    if (options.json) {
      results.push_back(to_json(row.ids, score));
    } else {
      print_row(row, score);
    }
    scores.push_back({std::move(score.logprobs), {}});
  }
  if (options.json) {
    std::printf("%s\n", to_text({{"results", std::move(results)}}).c_str());
  } else if (options.model.quantize != "none") {
    model.reset();  // one model at a time
    print_quantization_cost(*checkpoint, options.model, rows, evaluate::perplexity(scores), stop);
  } else if (rows.size() > 1) {
    std::printf("all rows: perplexity %.4f\n", evaluate::perplexity(scores));
  }
}

}  // namespace

void add_score(CLI::App& app, const std::stop_token& stop) {
  auto options = std::make_shared<ScoreOptions>();
  CLI::App* command = app.add_subcommand("score", "Log-probability of every token of a text");
  options->model.add_to(*command);
  command->add_option("--token-ids", options->token_ids, "ids like 1,2,3");
  command->add_option("--input", options->input,
                      "JSON lines with \"prompt\", \"messages\" or \"token_ids\"");
  command->add_flag("--json", options->json, "one JSON document on stdout");
  options->raw_prompt.add_to(*command);
  // For comparisons with other implementations.
  add_chat_template(*command, options->chat_template);
  command->add_option("--logits", options->logits_file)->group("");
  command->add_option("--guesses", options->guesses_file)->group("");
  command->add_option("--draft-model", options->draft_model)->group("");
  command->footer("Example:\n  predgen score --model checkpoints/demo --token-ids 1,2,3 --json");
  command->callback([options, stop] { run_score(*options, stop); });
}

}  // namespace predgen::cli
