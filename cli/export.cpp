#include <c10/core/InferenceMode.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/model_setup.h"
#include "core/error.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/json.h"
#include "model/checkpoint.h"
#include "model/lora.h"
#include "model/safetensors.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

struct ExportOptions {
  ModelOptions model;
  std::string output;
  bool json = false;
};

/// How far two models' logits are apart.
struct LogitDifference {
  double max = 0.0, mean = 0.0;
  int64_t num_positions = 0, num_same_top = 0;
};

LogitDifference compare(const at::Tensor& expected, const at::Tensor& found) {
  const at::Tensor difference = (expected - found).abs();
  const at::Tensor same = expected.argmax(-1).eq(found.argmax(-1));
  return {difference.max().item<double>(), difference.mean().item<double>(), same.numel(),
          same.sum().item<int64_t>()};
}

/// A folder that becomes `final_name` in one rename, or disappears.
class StagingFolder {
 public:
  explicit StagingFolder(const fs::path& final_name)
      : final_name_(final_name),
        folder_(final_name.parent_path() /
                fmt::format(".{}.partial-{}", final_name.filename().string(), getpid())) {
    make_folder(final_name.parent_path());
    make_folder(folder_);
  }
  ~StagingFolder() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;

  const fs::path& path() const { return folder_; }
  void publish() {
    publish_file(folder_, final_name_);
    folder_.clear();
  }

 private:
  fs::path final_name_, folder_;
};

/// Logits [B,T,V] of a few fixed rows, on the CPU.
at::Tensor probe(const Transformer& model) {
  constexpr int64_t kRows = 4, kTokens = 16;
  const int64_t num_tokens = std::min(kTokens, model.max_positions());
  const at::Tensor tokens_BT =
      (at::arange(kRows * num_tokens, at::kLong) * 7919 + 11).remainder(model.vocab_size());
  return model.logits(model.hidden_states(tokens_BT.view({kRows, num_tokens}))).cpu();
}

fs::path check_output(const std::string& output) {
  const fs::path folder = fs::weakly_canonical(fs::absolute(output));
  if (fs::exists(folder) && !fs::is_directory(folder)) {
    throw UserError("--output {}: exists and is not a folder", output);
  }
  if (fs::exists(folder) && !fs::is_empty(folder)) {
    throw UserError("--output {}: is not empty; name a new folder", output);
  }
  return folder.has_filename() ? folder : folder.parent_path();
}

std::string choose_dtype(const ModelOptions& options) {
  if (options.dtype != "auto") {
    parse_dtype(options.dtype);
    return options.dtype;
  }
  return ModelConfig::load(options.model).dtype == "float32" ? "fp32" : "bf16";
}

void check_merge(const at::Tensor& expected, const at::Tensor& merged) {
  const double tolerance = 1e-3 * std::max(1.0, expected.abs().max().item<double>());
  const LogitDifference difference = compare(expected, merged);
  if (!(difference.max <= tolerance)) {
    throw Error("merging changed the logits by {}, more than {}: nothing was written",
                difference.max, tolerance);
  }
}

void check_stored_weights(const Transformer& model, const fs::path& folder, at::ScalarType dtype) {
  const SafetensorsFolder stored(folder);
  for (const auto& [name, weight] : model.named_weights()) {
    if (!at::equal(stored.tensor(name), weight.to(at::kCPU, dtype))) {
      throw Error("{}: tensor {} reads back differently from what was written", folder.string(),
                  name);
    }
  }
}

void run_export(const ExportOptions& options) {
  const c10::InferenceMode inference;
  const fs::path output = check_output(options.output);
  const std::string dtype = choose_dtype(options.model);
  ModelOptions source = options.model;
  source.dtype = "fp32";  // the merge is rounded once, and the comparison is exact
  std::unique_ptr<Transformer> model = set_up_model(source);
  const at::Tensor expected = probe(*model);
  merge_lora(*model);
  check_merge(expected, probe(*model));
  throw_if_interrupted();

  StagingFolder staging(output);
  save_model(*model, staging.path(), source.model, dtype);
  check_stored_weights(*model, staging.path(), parse_dtype(dtype));
  model.reset();
  throw_if_interrupted();
  model = load_model(staging.path(), {}, {.device = source.device, .dtype = "fp32"});
  const LogitDifference difference = compare(expected, probe(*model));
  staging.publish();

  if (options.json) {
    const Json report{{"output", output.string()},
                      {"dtype", dtype},
                      {"max_logit_difference", difference.max},
                      {"mean_logit_difference", difference.mean},
                      {"num_positions", difference.num_positions},
                      {"num_same_top_token", difference.num_same_top}};
    std::printf("%s\n", report.dump(2).c_str());
    return;
  }
  std::printf("wrote %s (%s)\n", output.c_str(), dtype.c_str());
  std::printf(
      "verified: read back bit for bit; logits in float32 against %s: "
      "max difference %.3g, mean %.3g, same top token at %ld of %ld positions\n",
      source.adapter.empty() ? "the source" : "base and adapter", difference.max, difference.mean,
      static_cast<long>(difference.num_same_top), static_cast<long>(difference.num_positions));
}

}  // namespace

void add_export(CLI::App& app) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "Merge an adapter into a checkpoint and verify");
  ModelOptions& model = options->model;
  command->add_option("--model", model.model, "Hugging Face model folder")->required();
  command->add_option("--adapter", model.adapter, "PEFT adapter folder; none: only convert");
  command->add_option("--output", options->output, "new folder")->required();
  command->add_option("--dtype", model.dtype, "fp32 or bf16; auto: as the source")
      ->capture_default_str();
  command->add_option("--device", model.device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  command->add_option("--threads", model.threads, "CPU threads; 0: all cores")
      ->capture_default_str();
  command->add_flag("--json", options->json, "one JSON document on stdout");
  command->footer(
      "Example:\n  predgen export --model checkpoints/demo --adapter "
      "checkpoints/demo-cllm --output merged --dtype fp32");
  command->callback([options] { run_export(*options); });
}

}  // namespace predgen
