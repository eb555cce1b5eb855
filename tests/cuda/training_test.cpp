// A LoRA training on a device against the CPU's, and resumed from its own checkpoint.
#include <cmath>
#include <sstream>

#include "checkpoint/save_model.h"
#include "core/error.h"
#include "core/files.h"
#include "data/dataset_store.h"
#include "tensors/safetensors.h"
#include "tests/cuda/on_device.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/small_records.h"
#include "tests/fakes/temporary_folder.h"
#include "train/distributed/communicator.h"
#include "train/train.h"

namespace predgen {
namespace {

namespace fs = std::filesystem;

class TrainingOnDevice : public OnDevice {
 protected:
  TrainingOnDevice() {
    const auto writer = data::create_dataset(folder_ / "data", {{"first", 0}}, {});
    for (int64_t i = 0; i < 23; ++i) writer->append(small_record(i));
    writer->finish(Json::object());
    save_model(*tiny_model(), folder_ / "base", {}, "fp32");
  }

  train::TrainConfig config(const std::string& device, const std::string& output) const {
    train::TrainConfig config;
    config.device = device;
    config.model = folder_ / "base";
    config.lora.rank = 4;
    config.objective.kind = train::ObjectiveKind::kCllm;
    config.objective.consistency.stop_tokens = {39};
    config.dataset = folder_ / "data";
    config.output = folder_ / output;
    config.batch_size = 4;
    config.global_batch = 2 * config.batch_size;
    config.max_steps = 8;
    config.learning_rate = 3e-3;
    config.log_every = 1;
    config.save_every = 4;
    return config;
  }

  static void run(const train::TrainConfig& config, const std::string& resume = "none") {
    train::SingleProcessCommunicator communicator;
    train::train(config, resume, communicator, {});
  }

  /// Losses, gradient norm and rate of every step: all but time and memory.
  std::vector<std::pair<std::string, double>> losses(const std::string& output) const {
    std::vector<std::pair<std::string, double>> found;
    std::istringstream file(read_file(folder_ / output / "metrics.jsonl"));
    for (std::string line; std::getline(file, line);) {
      const Json json = Json::parse(line);
      for (const auto& [name, value] : json.items()) {
        if (name == "train/seconds" || name == "train/tokens_per_second") continue;
        if (name.starts_with("memory/")) continue;
        found.emplace_back(fmt::format("{} of step {}", name, json["step"].get<int>()), value);
      }
    }
    return found;
  }

  void expect_near(const std::string& output, const std::string& expected_output, double bound) {
    const auto expected = losses(expected_output), found = losses(output);
    ASSERT_EQ(found.size(), expected.size());
    ASSERT_GE(found.size(), 8u);
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].first, expected[i].first);
      EXPECT_NEAR(found[i].second, expected[i].second, bound * std::abs(expected[i].second) + 1e-6)
          << found[i].first;
    }
  }

  /// Between two adapters, relative to the first.
  double difference(const std::string& left, const std::string& right) const {
    const SafetensorsFile a(adapter(left)), b(adapter(right));
    double squared = 0, whole = 0;
    for (const auto& [name, entry] : a.entries()) {
      const at::Tensor tensor = a.tensor(name);
      squared += (tensor - b.tensor(name)).square().sum().item<double>();
      whole += tensor.square().sum().item<double>();
    }
    return std::sqrt(squared / whole);
  }
  fs::path adapter(const std::string& output) const {
    return folder_ / output / "final" / "adapter_model.safetensors";
  }

  const TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(, TrainingOnDevice, devices(), device_name);

TEST_P(TrainingOnDevice, LossesAreNearThoseOfTheCpu) {
  run(config("cpu", "reference"));
  run(config(GetParam(), "found"));
  expect_near("found", "reference", 2e-3);
  EXPECT_LT(difference("found", "reference"), 0.02);
}

TEST_P(TrainingOnDevice, NarrowProductsStayNear) {
  train::TrainConfig reference = config("cpu", "reference"), narrow = config(GetParam(), "found");
  reference.learning_rate = narrow.learning_rate = 1e-3;
  narrow.compute = train::Compute::kBFloat16;
  run(reference);
  run(narrow);
  expect_near("found", "reference", 0.05);
  EXPECT_GT(difference("found", "reference"), 1e-4);  // narrow they were
}

TEST_P(TrainingOnDevice, ResumesFromItsCheckpoint) {
  run(config(GetParam(), "whole"));
  train::TrainConfig parts = config(GetParam(), "parts");
  parts.stop_at_step = 5;
  EXPECT_THROW(run(parts), Interrupted);
  parts.stop_at_step = 0;
  run(parts, "auto");
  expect_near("parts", "whole", 1e-4);
  EXPECT_LT(difference("parts", "whole"), 1e-3);
  train::TrainConfig other = config(GetParam(), "other");
  other.seed = 1;
  run(other);
  EXPECT_GT(difference("other", "whole"), 0.1);
}

}  // namespace
}  // namespace predgen
