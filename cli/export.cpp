#include <c10/core/InferenceMode.h>

#include <cstdio>
#include <filesystem>

#include "checkpoint/checkpoint.h"
#include "checkpoint/merged_weights.h"
#include "checkpoint/save_model.h"
#include "checkpoint/tensor_views.h"
#include "cli/command.h"
#include "cli/export_gguf.h"
#include "cli/interrupt.h"
#include "cli/model_setup.h"
#include "cli/setting_flags.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/stop.h"
#include "model/load_options.h"
#include "model/weights/weight_files.h"

namespace predgen::cli {
namespace fs = std::filesystem;

namespace {

struct ExportOptions {
  ModelOptions model;
  std::string output, check = "logits";
  double max_logit_difference = 0.0;  // 0: a share of the largest logit, of a .gguf any
  bool json = false;
};

constexpr double kFloat32Share = 1e-3, kBfloat16Share = 0.1;  // of the largest logit

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

std::string choose_dtype(const ModelOptions& options, const Checkpoint& checkpoint) {
  if (options.dtype != "auto") {
    parse_dtype(options.dtype);
    return options.dtype;
  }
  return checkpoint.read_config().dtype == "float32" ? "fp32" : "bf16";
}

bool compares_logits(const std::string& check) {
  if (check != "weights" && check != "logits") {
    throw UserError("--check {}: must be weights or logits", check);
  }
  return check == "logits";
}

uint64_t total_bytes(const ModelConfig& config, at::ScalarType dtype) {
  return static_cast<uint64_t>(config.num_parameters()) * at::elementSize(dtype);
}

void check_free_space(const fs::path& output, uint64_t num_bytes) {
  const fs::space_info space = fs::space(output.parent_path());
  if (space.available < num_bytes) {
    throw UserError("--output {}: needs {:.3f} GB, the disk has {:.3f} GB left", output.string(),
                    static_cast<double>(num_bytes) / 1e9,
                    static_cast<double>(space.available) / 1e9);
  }
}

void write_weights(const MergedWeights& merged, const fs::path& folder, at::ScalarType dtype,
                   const std::stop_token& stop) {
  const StackedLayout layout(merged.config(), StackedLayout::Format::kFolder);
  const auto rows = [&](const std::string& name, int64_t begin, int64_t end) {
    throw_if_stopped(stop);
    return merged.rows(name, begin, end).to(dtype);
  };
  write_sharded_weights(folder, layout.tensors(), dtype,
                        [&](const std::string& name, int64_t begin, int64_t end) {
                          return layout.rows(name, begin, end, rows);
                        });
}

void print_report(const Json& report) {
  const Json& weights = report["weights"];
  std::printf("wrote %s (%s)\n", report["output"].get<std::string>().c_str(),
              report["dtype"].get<std::string>().c_str());
  if (report["resized_vocabulary"].is_number()) {
    std::printf("vocabulary: the adapter's %ld tokens, with the tokenizer of the %s\n",
                report["resized_vocabulary"].get<long>(),
                report["tokenizer_from"].get<std::string>().c_str());
  }
  std::printf(
      "weights: %ld tensors read back, %ld of them merged; largest difference from "
      "W + scaling B A %.3g: right, %.0f %% of what rounding may change\n",
      weights["num_tensors"].get<long>(), weights["num_merged"].get<long>(),
      weights["max_difference"].get<double>(), 100 * weights["worst_rounding"].get<double>());
  const Json& logits = report["logits"];
  if (logits.is_null()) {
    std::printf("logits: not compared; --check logits does\n");
    return;
  }
  print_logits(logits, "base and adapter");
}

void run_export(const ExportOptions& options, const std::stop_token& stop) {
  const c10::InferenceMode inference;
  allow_time_to_stop(std::chrono::minutes(1));  // a large tensor; what was written is removed
  set_num_threads(options.model.threads);
  if (fs::path(options.output).extension() == ".gguf") {
    return export_gguf({.model = options.model,
                        .output = options.output,
                        .with_logits = compares_logits(options.check),
                        .max_logit_difference = options.max_logit_difference,
                        .json = options.json},
                       stop);
  }
  const fs::path output = check_output(options.output);
  const std::unique_ptr<const Checkpoint> checkpoint = open_checkpoint(options.model.model);
  const std::string dtype = choose_dtype(options.model, *checkpoint);
  const at::ScalarType type = parse_dtype(dtype);
  const fs::path adapter = options.model.adapter;
  const MergedWeights merged(*checkpoint, adapter);
  const bool with_logits = compares_logits(options.check);

  StagedFolder staging(output);
  check_free_space(output, total_bytes(merged.config(), type));
  // Tokens added to the vocabulary are in the tokenizer beside the adapter. vocab.json alone counts
  // as one in transformers.
  std::unique_ptr<const Checkpoint> beside_adapter;
  if (merged.replaces_embeddings()) beside_adapter = open_checkpoint(adapter);
  const bool adapters_tokenizer =
      beside_adapter && (beside_adapter->has_tokenizer() || fs::exists(adapter / "vocab.json"));
  save_model_files(staging.path(), merged.config(), checkpoint.get(), dtype,
                   adapters_tokenizer ? beside_adapter.get() : nullptr);
  write_weights(merged, staging.path(), type, stop);
  throw_if_stopped(stop);
  const ModelWeights stored(*open_checkpoint(staging.path()));
  const MergedWeights::Comparison weights = merged.compare(stored, type);
  throw_if_stopped(stop);
  Json logits;
  if (with_logits) {
    logits = check_logits(merged, stored,
                          {.device = parse_device(options.model.device),
                           .max_difference = options.max_logit_difference,
                           .share = type == at::kFloat ? kFloat32Share : kBfloat16Share},
                          stop);
  }
  staging.publish();

  const Json report{{"output", output.string()},
                    {"dtype", dtype},
                    {"resized_vocabulary",
                     merged.replaces_embeddings() ? Json(merged.config().vocab_size) : Json()},
                    {"tokenizer_from", adapters_tokenizer ? "adapter" : "model"},
                    {"weights",
                     {{"num_tensors", weights.num_tensors},
                      {"num_merged", weights.num_merged},
                      {"max_difference", weights.max_difference},
                      {"worst_rounding", weights.worst_rounding}}},
                    {"logits", logits}};
  if (options.json) {
    std::printf("%s\n", to_text(report, 2).c_str());
  } else {
    print_report(report);
  }
}

}  // namespace

void add_export(CLI::App& app, const std::stop_token& stop) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "Merge an adapter into a checkpoint and verify");
  ModelOptions& model = options->model;
  add_flags(*command, only(settings_of(model), {"model", "adapter", "device", "threads"}));
  command->add_option("--output", options->output, "new folder, or a new file that ends in .gguf")
      ->required();
  command
      ->add_option("--dtype", model.dtype,
                   "fp32 or bf16; auto: as the source. Of a .gguf: fp32, bf16, fp16, q8_0 or q4_0; "
                   "auto: q8_0")
      ->capture_default_str();
  command
      ->add_option(
          "--check", options->check,
          "weights: every tensor against base and adapter; logits: those of some 250 tokens too, "
          "one layer in memory at a time")
      ->capture_default_str();
  command
      ->add_option(
          "--max-logit-difference", options->max_logit_difference,
          "fail above it; 0: 0.001 of the largest logit for fp32, 0.1 for bf16; of a .gguf: "
          "never")
      ->capture_default_str();
  command->add_flag("--json", options->json, "one JSON document on stdout");
  command->footer(
      "Merges tensor by tensor: memory does not grow with the model. The output is checked before "
      "it "
      "gets its name; a failed check leaves nothing (exit code 2).\n\nExample:\n  predgen export "
      "--model checkpoints/demo --adapter "
      "checkpoints/demo-cllm --output merged --dtype fp32\n  predgen export --model smollm2 "
      "--adapter runs/quickstart/adapter/final --output tuned.gguf --dtype q8_0");
  command->callback([options, stop] { run_export(*options, stop); });
}

}  // namespace predgen::cli
