#include <c10/core/InferenceMode.h>

#include <cmath>
#include <cstdio>
#include <utility>

#include "cli/command.h"
#include "cli/input_rows.h"
#include "cli/model_setup.h"
#include "core/error.h"
#include "core/json.h"
#include "core/stop.h"
#include "model/weights/safetensors.h"
#include "text/tokenizer.h"

namespace predgen::cli {
namespace {

struct ScoreOptions {
  ModelOptions model;
  std::string token_ids, input, chat_template, logits_file;
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
                                    ? tokenizer->render_chat(*row.messages, false)
                                    : input_ids(row, tokenizer.get(), options.raw_prompt)});
  }
  return rows;
}

struct Score {
  std::vector<double> logprobs;  // of tokens 1..T-1, each given those before it
  at::Tensor logits_TV;          // only if asked for
};

enum class KeepLogits { kNo, kYes };

/// In chunks: the logits of a long row would not fit into memory at once.
Score score_row(const LanguageModel& model, const TokenIds& ids, KeepLogits keep,
                const std::stop_token& stop) {
  constexpr int64_t kChunk = 512;
  const auto num_tokens = static_cast<int64_t>(ids.size());
  const at::Tensor tokens_T = at::tensor(ids, at::kLong);
  KvPool pool(model.kv_layout());
  const std::unique_ptr<KvCache> cache = pool.make_cache(num_tokens);
  Score score;
  std::vector<at::Tensor> kept;
  for (int64_t begin = 0; begin < num_tokens; begin += kChunk) {
    throw_if_stopped(stop);
    const int64_t length = std::min(kChunk, num_tokens - begin);
    const TokenSpan chunk = TokenSpan(ids).subspan(begin, length);
    const at::Tensor logits_TV =
        model.forward({.cache = cache.get(), .tokens = chunk, .num_logits = length});
    if (keep == KeepLogits::kYes) kept.push_back(logits_TV.cpu());
    const int64_t num_targets = std::min(length, num_tokens - begin - 1);
    const at::Tensor targets = tokens_T.narrow(0, begin + 1, num_targets).to(logits_TV.device());
    const at::Tensor logprobs = at::log_softmax(logits_TV.narrow(0, 0, num_targets), -1)
                                    .gather(-1, targets.unsqueeze(-1))
                                    .to(at::kCPU, at::kDouble)
                                    .contiguous();
    const double* values = logprobs.const_data_ptr<double>();
    score.logprobs.insert(score.logprobs.end(), values, values + num_targets);
  }
  for (const double logprob : score.logprobs) {
    if (std::isnan(logprob)) throw Error("the model computes NaN; are its weights damaged?");
  }
  if (keep == KeepLogits::kYes) score.logits_TV = at::cat(kept);
  return score;
}

Json to_json(const TokenIds& ids, const Score& score) {
  Json logprobs = Json::array({nullptr});  // nothing comes before the first token
  for (const double logprob : score.logprobs) logprobs.push_back(logprob);
  return {{"token_ids", ids}, {"logprobs", std::move(logprobs)}};
}

void print_row(const Row& row, const Score& score) {
  double total = 0.0;
  for (const double logprob : score.logprobs) total += logprob;
  const size_t count = score.logprobs.size();
  std::printf("row %lld: %zu tokens, log-probability %.4f", static_cast<long long>(row.number),
              row.ids.size(), total);
  if (count > 0) std::printf(", perplexity %.3f", std::exp(-total / static_cast<double>(count)));
  std::printf("\n");
}

/// Over all rows; NaN if no row has two tokens.
double perplexity(const std::vector<Score>& scores) {
  double total = 0.0, count = 0.0;
  for (const Score& score : scores) {
    for (const double logprob : score.logprobs) total += logprob;
    count += static_cast<double>(score.logprobs.size());
  }
  return std::exp(-total / count);
}

/// What quantisation costs: the same rows by the same weights in bfloat16.
void print_quantization_cost(const Checkpoint& checkpoint, ModelOptions options,
                             const std::vector<Row>& rows, double quantized_perplexity,
                             const std::stop_token& stop) {
  const std::string kind = std::exchange(options.quantize, "none");
  options.dtype = "bf16";
  const std::unique_ptr<Transformer> model =
      set_up_model(checkpoint, options, /*prepares_passes=*/false);
  std::vector<Score> scores;
  for (const Row& row : rows) scores.push_back(score_row(*model, row.ids, KeepLogits::kNo, stop));
  const double full = perplexity(scores);
  std::printf("all rows: perplexity %.4f in %s, %.4f in bf16: %+.2f %%\n", quantized_perplexity,
              kind.c_str(), full, 100 * (quantized_perplexity / full - 1));
}

void run_score(const ScoreOptions& options, const std::stop_token& stop) {
  const c10::InferenceMode inference;
  const std::unique_ptr<const Checkpoint> checkpoint = open_checkpoint(options.model.model);
  const std::vector<Row> rows = read_rows(options, *checkpoint);
  if (!options.logits_file.empty() && rows.size() != 1) {
    throw UserError("--logits: needs exactly one row, not {}", rows.size());
  }
  std::unique_ptr<Transformer> model =
      set_up_model(*checkpoint, options.model, /*prepares_passes=*/false);
  for (const Row& row : rows) {
    check_token_ids(row.ids, *model,
                    options.input.empty() ? "--token-ids"
                                          : fmt::format("{}: row {}", options.input, row.number));
  }
  Json results = Json::array();
  std::vector<Score> scores;
  for (const Row& row : rows) {
    const bool keep = !options.logits_file.empty();
    Score score = score_row(*model, row.ids, keep ? KeepLogits::kYes : KeepLogits::kNo, stop);
    if (keep) write_safetensors(options.logits_file, {{"logits", score.logits_TV}});
    if (options.json) {
      results.push_back(to_json(row.ids, score));
    } else {
      print_row(row, score);
    }
    scores.push_back({std::move(score.logprobs), {}});
  }
  if (options.json) {
    std::printf("%s\n", Json{{"results", std::move(results)}}.dump().c_str());
  } else if (options.model.quantize != "none") {
    model.reset();  // one model at a time
    print_quantization_cost(*checkpoint, options.model, rows, perplexity(scores), stop);
  } else if (rows.size() > 1) {
    std::printf("all rows: perplexity %.4f\n", perplexity(scores));
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
  command->footer("Example:\n  predgen score --model checkpoints/demo --token-ids 1,2,3 --json");
  command->callback([options, stop] { run_score(*options, stop); });
}

}  // namespace predgen::cli
