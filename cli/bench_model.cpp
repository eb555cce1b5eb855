#include <ATen/Parallel.h>
#include <c10/core/StreamGuard.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "cli/bench_command.h"
#include "cli/bench_conditions.h"
#include "cli/input_rows.h"
#include "cli/model_setup.h"
#include "core/error.h"
#include "core/progress.h"
#include "evaluate/speed_report.h"
#include "model/cpu/cpu_pass.h"
#include "model/gpu/gpu_pass.h"
#include "model/stream_priority.h"
#include "runtime/generate/sampler.h"
#include "text/tokenizer.h"

namespace predgen::cli {
namespace {

// What one says to a voice assistant.
constexpr const char* kMessages[] = {
    "What should I wear for a walk along the coast in October?",
    "Please help me plan a dinner for four people, one of them vegetarian.",
    "How do I get a red wine stain out of a white shirt?",
    "Tell me a short story about a lighthouse keeper.",
    "Why does a bicycle stay upright when it rolls?"};

/// What can be said before the weights are read.
void check_sizes(const ModelBench& options, int64_t max_positions) {
  const evaluate::SpeedConfig& speed = options.speed;
  if (speed.prompt < 1) throw UserError("--prompt {}: must be at least 1 token", speed.prompt);
  if (speed.generate < 2) {
    throw UserError("--generate {}: must be at least 2 tokens", speed.generate);
  }
  for (const int64_t draft : speed.drafts) {
    if (draft < 2) throw UserError("--draft {}: a draft must have at least 2 tokens", draft);
  }
  const int64_t positions = speed.num_positions();
  if (positions <= max_positions) return;
  const int64_t longest = *std::ranges::max_element(speed.drafts);
  const bool is_draft = longest > speed.generate;
  throw UserError("--prompt {} and {} {}: {} tokens do not fit into the {} positions of {}",
                  speed.prompt, is_draft ? "--draft" : "--generate",
                  is_draft ? longest : speed.generate, positions, max_positions,
                  options.model.model);
}

/// `names` get where each prompt is from, for errors.
evaluate::SpeedTexts read_texts(const ModelBench& options, const Checkpoint& checkpoint,
                                int64_t max_positions, std::vector<std::string>& names) {
  const std::unique_ptr<Tokenizer> tokenizer =
      load_tokenizer(checkpoint.read_tokenizer(options.chat_template));
  evaluate::SpeedTexts texts;
  texts.stop_tokens = tokenizer->stop_tokens();
  std::vector<InputRow> rows;
  if (options.input.empty()) {
    for (const char* text : kMessages) {
      rows.emplace_back().messages.emplace().push_back({.role = "user", .content = text});
    }
  } else {
    rows = read_input_rows(options.input);
  }
  for (const InputRow& row : rows) {
    texts.prompts.push_back(input_ids(row, tokenizer.get(), {}));
    const TokenIds& ids = texts.prompts.back();
    const std::string where = options.input.empty()
                                  ? "the questions to answer"
                                  : fmt::format("{}: row {}", options.input, row.number);
    names.push_back(where);
    if (ids.empty()) throw UserError("{}: there are no tokens", where);
    const auto length = static_cast<int64_t>(ids.size());
    if (length + options.speed.generate > max_positions) {
      throw UserError("{}: {} tokens and --generate {} do not fit into the model's {} positions",
                      where, length, options.speed.generate, max_positions);
    }
  }
  return texts;
}

/// A conversation's first pass, up to the token.
void run_first_token(Engine& engine, const TokenIds& prompt) {
  Sequence sequence = engine.make_sequence(static_cast<int64_t>(prompt.size()) + 1);
  sequence.append(prompt);
  argmax_rows(*engine.run({.sequence = &sequence}).logits);
}

std::string name_of(at::ScalarType type) { return type == at::kFloat ? "fp32" : "bf16"; }

void print_report(const Json& report, int64_t runs) {
  const auto text = [&](const char* key) { return report[key].get<std::string>(); };
  const auto number = [&](const char* key) { return report[key].get<double>(); };
  const bool is_cpu = text("device") == "cpu";
  fmt::print(
      "{}: {:.4g} M parameters, {}{}, {}{}, loaded in {:.2f} s; {} runs after one to warm "
      "up\n",
      text("path"), number("parameters") * 1e-6, text("dtype"),
      text("quantization") == "none" ? "" : ", " + text("quantization"), text("device"),
      is_cpu ? fmt::format(", --threads {}", number("threads")) : "", number("load"), runs);
  const Json& cached = report["weights_in_memory_before"];
  fmt::print("first token {:.2f} s after the start of the program{}\n", number("first_token"),
             cached.is_null() ? ""
                              : fmt::format(", {:.0f} % of the weight files in memory before",
                                            cached.get<double>() * 100));
  if (report["kernels_refused"].is_string()) {
    fmt::print("passes run in LibTorch's operators: {}\n", text("kernels_refused"));
  }
  fmt::print("{}\n{}", evaluate::format_speed(report), evaluate::speed_verdict(report));
}

}  // namespace

void ModelBench::add_to(CLI::App& command) {
  model.add_to(command);
  command.get_option("--model")->required(false);
  // Sums of them do not overflow; what is too small is said later, in better words.
  const CLI::Validator countable = CLI::Range(int64_t{-1} << 40, int64_t{1} << 40).description("");
  command.add_option("--prompt", speed.prompt, "--model: tokens of context")
      ->check(countable)
      ->capture_default_str();
  command
      .add_option("--generate", speed.generate, "--model: tokens to decode; of an answer at most")
      ->check(countable)
      ->capture_default_str();
  command.add_option("--draft", speed.drafts, "--model: lengths of drafts and of Jacobi blocks")
      ->delimiter(',')
      ->check(countable)
      ->capture_default_str();
  command.add_option("--input", input,
                     "--model: JSON lines to answer, as of predgen generate, instead of five "
                     "questions");
  command.add_flag("--no-kernels", no_kernels,
                   "--model: passes in LibTorch's operators, to compare with");
  add_chat_template(command, chat_template);
}

Json bench_model(const ModelBench& options, bool print_table, const std::stop_token& stop) {
  const auto begin = std::chrono::steady_clock::now();
  const std::unique_ptr<const Checkpoint> checkpoint = open_checkpoint(options.model.model);
  const int64_t max_positions = checkpoint->read_config().context_length();
  check_sizes(options, max_positions);
  std::vector<std::string> names;
  const evaluate::SpeedTexts texts = read_texts(options, *checkpoint, max_positions, names);
  const SystemClock clock(stop);
  const std::optional<double> cached = cached_share(checkpoint->weight_files());
  const Seconds start = clock.now();
  std::shared_ptr<Transformer> model =
      set_up_model(*checkpoint, options.model, !options.no_kernels);
  if (!model->mask_tokens().empty()) {
    throw UserError(
        "--adapter {}: counts for mask tokens alone, and here adapters are measured by Jacobi "
        "decoding: leave it out, or compare the methods baseline and mtp with predgen eval",
        options.model.adapter);
  }
  model->set_kernels(!options.no_kernels);
  std::optional<Engine> engine(std::in_place, model);
  const double load = (clock.now() - start).count();
  for (size_t i = 0; i < texts.prompts.size(); ++i) {
    check_token_ids(texts.prompts[i], *model, names[i]);
  }
  const at::Device device = model->device();
  const c10::StreamGuard stream(make_stream(device, StreamPriority::kHigh));

  run_first_token(*engine, texts.prompts[0]);
  const double first_token =
      options.startup +
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  Progress progress("bench", "parts", evaluate::num_speed_parts(options.speed));
  int64_t done = 0;
  const evaluate::ModelSpeed speed = evaluate::measure_speed(
      *engine, options.speed, texts, clock, [&] { progress.update(++done); }, stop);
  progress.finish();
  const std::string refusal =
      device.is_cpu() ? CpuPass::refusal(model->config()) : GpuPass::refusal(model->config());
  const evaluate::DecodeBytes bytes =
      evaluate::decode_bytes(*model, parse_quantization(options.model.quantize));
  // A file in few bits runs so without being asked to.
  const bool is_as_stored = options.model.quantize == "none" &&
                            std::ranges::any_of(model->linears(), [](const Linear* linear) {
                              return !!linear->quantized;
                            });
  const std::string quantization = is_as_stored ? "stored" : options.model.quantize;
  Json environment{
      {"path", checkpoint->name()},
      {"adapter", options.model.adapter.empty() ? Json() : Json(options.model.adapter)},
      {"device", device.str()},
      {"threads", at::get_num_threads()},
      {"dtype", name_of(model->dtype())},
      {"quantization", quantization},
      {"kernels", !options.no_kernels},
      {"kernels_refused", refusal.empty() ? Json() : Json(refusal)},
      {"parameters", model->config().num_parameters()},
      {"load", load},
      {"first_token", first_token},
      {"weights_in_memory_before", cached ? Json(*cached) : Json()}};
  const PeakMemory peak = peak_memory(device);  // before the buffer below
  engine.reset();
  model.reset();
  const MemoryBandwidth bandwidth =
      measure_bandwidth(device, static_cast<int>(std::max<int64_t>(options.speed.runs, 5)), stop);
  Json report = evaluate::make_speed_report(
      {options.speed, speed, bytes, bandwidth, peak, std::move(environment)});
  if (print_table) print_report(report, options.speed.runs);
  return report;
}

}  // namespace predgen::cli
