// Runs a Zonos model on a request in JSON and writes what it computed, for zonos_parity.py and
// bench/zonos_step.py.

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>

#include "core/json.h"
#include "tensors/safetensors.h"
#include "voice/zonos/code_generation.h"

using namespace predgen;

namespace {

ZonosConditioning read_conditioning(const Json& json) {
  ZonosConditioning given;
  given.phoneme_ids = json.at("phoneme_ids").get<std::vector<int64_t>>();
  if (json.contains("speaker")) {
    given.speaker = at::tensor(json.at("speaker").get<std::vector<float>>(), at::kFloat);
  }
  if (json.contains("emotion")) given.emotion = json.at("emotion").get<std::array<float, 8>>();
  if (json.contains("fmax")) given.fmax = json.at("fmax").get<float>();
  if (json.contains("pitch_std")) given.pitch_std = json.at("pitch_std").get<float>();
  if (json.contains("speaking_rate")) given.speaking_rate = json.at("speaking_rate").get<float>();
  if (json.contains("language_id")) given.language_id = json.at("language_id").get<int64_t>();
  return given;
}

at::Tensor read_audio(const Json& request) {
  if (!request.contains("audio_prefix")) return {};
  std::vector<at::Tensor> rows;
  for (const Json& row : request.at("audio_prefix")) {
    rows.push_back(at::tensor(row.get<std::vector<int64_t>>(), at::kLong));
  }
  return at::stack(rows);
}

CodeGenerationConfig read_config(const Json& request) {
  CodeGenerationConfig config;
  config.cfg_scale = request.at("cfg_scale");
  config.max_new_frames = request.at("max_new_frames");
  config.sampling.temperature = request.value("temperature", 1.0);
  config.sampling.min_p = request.value("min_p", 0.0);
  config.sampling.seed = request.value("seed", uint64_t{0});
  config.sampling.python_draws = true;
  return config;
}

/// Guided logits [T,9,1025] of the columns after those of the prefix, as `codes_KN` has them.
at::Tensor forced_logits(const ZonosModel& model, const at::Tensor& prefix, double cfg_scale,
                         const at::Tensor& codes_KN, int64_t num_prefix_frames) {
  const at::Tensor columns =
      at::full({kZonosCodebooks, codes_KN.size(1) + kZonosCodebooks}, kZonosMask, at::kLong);
  for (int64_t k = 0; k < kZonosCodebooks; ++k) {
    columns[k]
        .narrow(0, k + 1, columns.size(1) - k - 1)
        .narrow(0, 0, std::min(codes_KN.size(1), columns.size(1) - k - 1))
        .copy_(codes_KN[k]);
  }
  ZonosCache cache = model.make_cache(cfg_scale);
  std::vector<at::Tensor> logits{
      model.prefill(prefix, columns.narrow(1, 0, num_prefix_frames + 1), cfg_scale, cache)};
  for (int64_t t = num_prefix_frames + 1; t < codes_KN.size(1); ++t) {
    logits.push_back(model.step(columns.select(1, t).contiguous(), cfg_scale, cache));
  }
  return at::stack(logits);
}

void run(const char* folder, const char* request_file, const char* output,
         const LoadOptions& load) {
  const Json request = read_json(request_file);
  const auto model = ZonosModel::load(folder, load);
  const at::Tensor prefix = model->make_prefix(read_conditioning(request.at("conditioning")));
  const CodeGenerationConfig config = read_config(request);
  CodeGeneration generation(*model, prefix, config, read_audio(request));
  std::vector<double> milliseconds;
  for (bool more = true; more;) {
    const auto start = std::chrono::steady_clock::now();
    more = generation.step();
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    milliseconds.push_back(elapsed.count());
  }
  std::ranges::sort(milliseconds);
  std::printf("%.4f\n", milliseconds[milliseconds.size() / 2]);
  const at::Tensor codes = generation.codes();
  std::map<std::string, at::Tensor> computed{{"prefix", prefix}, {"codes", codes}};
  if (request.value("logits", true)) {
    computed["logits"] =
        forced_logits(*model, prefix, config.cfg_scale, codes, generation.num_prefix_frames());
  }
  write_safetensors(output, computed);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc > 6) {
    std::fprintf(stderr,
                 "zonos_codes MODEL REQUEST.json OUTPUT.safetensors [fp32|bf16 [int8]]\n"
                 "prints the median of milliseconds per step\n");
    return 2;
  }
  try {
    at::set_num_threads(1);
    run(argv[1], argv[2], argv[3],
        {.device = "cpu",
         .dtype = argc > 4 ? argv[4] : "fp32",
         .quantization = argc > 5 ? parse_quantization(argv[5]) : Quantization::kNone});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "zonos_codes: %s\n", error.what());
    return 1;
  }
  return 0;
}
