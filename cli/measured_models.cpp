#include "cli/measured_models.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "checkpoint/checkpoint.h"
#include "core/model_names.h"
#include "model/device_memory.h"
#include "model/row_product.h"

namespace predgen::cli {
namespace {

/// Bytes of 4-bit weights that our kernels read in a second for one token: the best of a few
/// products by a matrix larger than caches.
double weight_bytes_per_second() {
  constexpr int64_t kOut = 65536, kIn = 2048, kGroup = 32;
  constexpr int kRuns = 5;
  GroupedMatrix matrix{.bits = 4, .out = kOut, .words = {}, .scales = {}};
  matrix.words =
      at::full({kOut / kGroupPanel, kIn / matrix.unit(), kGroupPanel}, 0x13579BDF, at::kInt);
  matrix.scales = at::ones({kOut / kGroupPanel, kIn / kGroup, 2, kGroupPanel}, at::kHalf);
  const at::Tensor x = at::ones({1, kIn}, at::kBFloat16);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRuns; ++i) {
    const auto start = std::chrono::steady_clock::now();
    grouped_product(x, matrix);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count());
  }
  return static_cast<double>(matrix.words.nbytes() + matrix.scales.nbytes()) / best;
}

std::vector<SuitingModel> measured(const std::vector<NamedModel>& all) {
  std::vector<SuitingModel> models;
  for (const NamedModel& named : all) {
    try {
      const int64_t bytes = open_checkpoint(named.path)->read_label().num_bytes;
      models.push_back({.name = named.name, .num_bytes = bytes});
    } catch (const std::exception&) {  // "predgen models" says what is wrong with it
    }
  }
  if (models.empty()) return models;
  const double speed = weight_bytes_per_second();
  constexpr double kBeside = 1.5e9;  // keys and values, the recogniser, the voice
  const auto memory = static_cast<double>(memory_size(at::kCPU));
  for (SuitingModel& model : models) {
    const auto bytes = static_cast<double>(model.num_bytes);
    model.tokens_per_second = speed / bytes;
    model.fits = 1.25 * bytes + kBeside <= memory;  // 5 and 6 bits run in 8
  }
  return models;
}

}  // namespace

std::vector<SuitingModel> measure_models() { return measured(models_in(models_folder())); }

std::string measure_better(const std::string& used) {
  const std::vector<NamedModel> models = models_in(models_folder());
  const bool has_choice =
      models.size() > 1 && std::ranges::find(models, used, &NamedModel::name) != models.end();
  return has_choice ? name_better(measured(models), used) : "";
}

}  // namespace predgen::cli
