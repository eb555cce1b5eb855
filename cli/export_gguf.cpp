#include "cli/export_gguf.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>

#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf_checkpoint.h"
#include "checkpoint/logit_check.h"
#include "checkpoint/merged_weights.h"
#include "checkpoint/save_gguf.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/stop.h"
#include "model/load_options.h"

namespace predgen::cli {

Json check_logits(const MergedWeights& merged, const ModelWeights& stored, const LogitCheck& check,
                  const std::stop_token& stop) {
  const LogitDifference difference =
      compare_logits(merged, stored, check.device, [&] { throw_if_stopped(stop); });
  const double bound = check.max_difference > 0
                           ? check.max_difference
                           : check.share * std::max(1.0, difference.largest_logit);
  if (!(difference.max <= bound)) {  // NaN too
    throw UserError(
        "the merged model's logits differ by {:.3g} from those of base and adapter, more than "
        "{:.3g} (--max-logit-difference): nothing was written",
        difference.max, bound);
  }
  return {{"max_logit_difference", difference.max},
          {"allowed_logit_difference", bound},
          {"mean_logit_difference", difference.mean},
          {"num_positions", difference.num_positions},
          {"num_same_top_token", difference.num_same_top}};
}

void print_logits(const Json& logits, const char* origin) {
  std::printf(
      "logits: right, in float32 against %s: max difference %.3g of %.3g allowed, mean %.3g, same "
      "top token at %ld of %ld positions\n",
      origin, logits["max_logit_difference"].get<double>(),
      logits["allowed_logit_difference"].get<double>(),
      logits["mean_logit_difference"].get<double>(), logits["num_same_top_token"].get<long>(),
      logits["num_positions"].get<long>());
}

namespace fs = std::filesystem;

namespace {

/// A type as --dtype names it, and how far a matrix may be from its source: |difference| /
/// |matrix|. Rounding gives a third to a half of it.
struct WrittenType {
  const char *name, *gguf;
  double bound;
};
constexpr WrittenType kTypes[] = {{"fp32", "F32", 1e-5},
                                  {"bf16", "BF16", 4e-3},
                                  {"fp16", "F16", 1e-3},
                                  {"q8_0", "Q8_0", 0.02},
                                  {"q4_0", "Q4_0", 0.25}};

const WrittenType& find_type(const std::string& dtype) {
  for (const WrittenType& type : kTypes) {
    if (dtype == type.name || (dtype == "auto" && type.gguf == std::string_view("Q8_0"))) {
      return type;
    }
  }
  throw UserError("--dtype {}: a .gguf is written as fp32, bf16, fp16, q8_0 or q4_0", dtype);
}

/// A file that is removed unless it gets its final name.
class StagedFile {
 public:
  explicit StagedFile(const fs::path& file)
      : file_(file), staged_(file.parent_path() / ("." + file.filename().string() + ".partial")) {}
  ~StagedFile() {
    std::error_code ignored;
    fs::remove(staged_, ignored);
  }
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;
  const fs::path& path() const { return staged_; }
  void publish() const { publish_file(staged_, file_); }

 private:
  const fs::path file_, staged_;
};

/// The largest |stored - exact| / |exact| of a tensor. UserError for one above `bound`.
double compare_weights(const MergedWeights& merged, const ModelWeights& stored, double bound,
                       const std::stop_token& stop) {
  double worst = 0;
  for (const WeightSpec& weight : weight_layout(merged.config())) {
    throw_if_stopped(stop);
    double lost = 0, total = 0;
    for_each_block(weight.shape, [&](int64_t begin, int64_t end) {
      const at::Tensor exact = merged.rows(weight.name, begin, end).to(at::kDouble);
      const at::Tensor found = stored.read_rows(weight.name, begin, end).to(at::kDouble);
      lost += (found - exact).square().sum().item<double>();
      total += exact.square().sum().item<double>();
    });
    const double error = total > 0 ? std::sqrt(lost / total) : std::sqrt(lost);
    if (!(error <= bound)) {  // NaN too
      throw UserError(
          "tensor {} was written with a relative error of {:.3g}, more than {:.3g}: "
          "nothing was written",
          weight.name, error, bound);
    }
    worst = std::max(worst, error);
  }
  return worst;
}

void print_gguf_report(const Json& report) {
  std::printf("wrote %s (%s, %.1f MB)\n", report["output"].get<std::string>().c_str(),
              report["type"].get<std::string>().c_str(), report["bytes"].get<double>() / 1e6);
  std::printf("weights: read back; largest relative error of a tensor %.3g\n",
              report["worst_relative_error"].get<double>());
  const Json& logits = report["logits"];
  if (logits.is_null()) return;
  print_logits(logits, "what it was made of");
}

}  // namespace

void export_gguf(const GgufExportOptions& options, const std::stop_token& stop) {
  const WrittenType& type = find_type(options.model.dtype);
  const fs::path output = fs::absolute(options.output);
  if (fs::exists(output)) throw UserError("--output {}: is there; name a new file", options.output);
  make_folder(output.parent_path());
  const std::unique_ptr<const Checkpoint> checkpoint = open_checkpoint(options.model.model);
  const MergedWeights merged(*checkpoint, options.model.adapter);
  std::unique_ptr<const Checkpoint> beside_adapter;
  if (merged.replaces_embeddings()) beside_adapter = open_checkpoint(options.model.adapter);
  const Checkpoint& source =
      beside_adapter && beside_adapter->has_tokenizer() ? *beside_adapter : *checkpoint;
  std::optional<TokenizerFiles> tokenizer;
  if (source.has_tokenizer()) tokenizer = source.read_tokenizer({});
  const GgufExport what{.config = merged.config(),
                        .tokenizer = tokenizer ? &*tokenizer : nullptr,
                        .name = output.stem().string(),
                        .type = written_gguf_type(type.gguf)};
  const uint64_t num_bytes = gguf_contents(what).num_bytes();
  if (fs::space(output.parent_path()).available < num_bytes) {
    throw UserError("--output {}: needs {:.3f} GB, which the disk has not", options.output,
                    static_cast<double>(num_bytes) / 1e9);
  }
  const StagedFile staged(output);
  write_gguf(staged.path(), what, [&](const std::string& name, int64_t begin, int64_t end) {
    throw_if_stopped(stop);
    return merged.rows(name, begin, end);
  });
  const ModelWeights stored{GgufCheckpoint(staged.path())};
  Json report{{"output", output.string()},
              {"type", type.gguf},
              {"bytes", num_bytes},
              {"worst_relative_error", compare_weights(merged, stored, type.bound, stop)},
              {"logits", nullptr}};
  if (options.with_logits) {
    report["logits"] = check_logits(merged, stored,
                                    {.device = parse_device(options.model.device),
                                     .max_difference = options.max_logit_difference,
                                     .share = std::numeric_limits<double>::infinity()},
                                    stop);
  }
  staged.publish();
  if (options.json) {
    std::printf("%s\n", to_text(report, 2).c_str());
  } else {
    print_gguf_report(report);
  }
}

}  // namespace predgen::cli
