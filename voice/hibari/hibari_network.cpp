#include "voice/hibari/hibari_network.h"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.h"
#include "hear/onnx/onnx_session.h"

namespace predgen {
namespace {

constexpr int64_t kBins = 601;
// Few enough for LibTorch to compute on the calling thread.
constexpr int64_t kFramesPerStep = 27;

/// A view that keeps the output's memory.
at::Tensor to_tensor(const OnnxOutput& output) {
  return at::from_blob(
      const_cast<float*>(output.values.data()), output.shape, [owner = output.owner](void*) {},
      at::kFloat);
}

const std::vector<std::string>& output_names() {
  static const std::vector<std::string> names{"lh", "theta", "ln", "lr", "phi", "f0"};
  return names;
}

/// A piece under way. The first step is the network's pass, and the sound of its first frames.
class HibariPiece : public Synthesis {
 public:
  HibariPiece(const HibariNetwork& network, std::vector<int64_t> ids, uint64_t seed)
      : network_(network), ids_(std::move(ids)), generator_(at::detail::createCPUGenerator(seed)) {}

  bool advance(std::vector<float>& samples) override {
    const c10::InferenceMode inference;
    if (!sound_) sound_.emplace(network_.frames(ids_));
    const int64_t count = std::min(kFramesPerStep, sound_->frames_left());
    const at::Tensor noise = at::randn({count, kBins, 2}, generator_, at::kFloat);
    sound_->push(at::view_as_complex(noise), samples);
    return sound_->frames_left() > 0;
  }

 private:
  const HibariNetwork& network_;
  std::vector<int64_t> ids_;
  at::Generator generator_;
  std::optional<HibariSound> sound_;
};

}  // namespace

HibariNetwork::HibariNetwork(std::shared_ptr<const OnnxGraph> graph, HibariAlphabet alphabet,
                             const HibariSettings& settings)
    : graph_(std::move(graph)), alphabet_(std::move(alphabet)), settings_(settings) {
  check_graph(*graph_, {"ids", "speed"}, output_names(), "Hibari");
}

std::shared_ptr<const HibariNetwork> HibariNetwork::load(const std::filesystem::path& folder,
                                                         const HibariSettings& settings) {
  HibariAlphabet alphabet(folder / "vocab.json");
  return std::make_shared<const HibariNetwork>(
      std::make_unique<const OnnxSession>(folder / "hibari.onnx"), std::move(alphabet), settings);
}

std::shared_ptr<const HibariNetwork> HibariNetwork::at_speed(double factor) const {
  HibariSettings settings = settings_;
  settings.speed *= factor;
  return std::make_shared<const HibariNetwork>(graph_, alphabet_, settings);
}

std::unique_ptr<Synthesis> HibariNetwork::speak(const std::string& phonemes) const {
  std::vector<int64_t> ids = alphabet_.ids(hibari_phonemes(phonemes));
  if (ids.empty()) return nullptr;
  return std::make_unique<HibariPiece>(*this, std::move(ids), settings_.seed);
}

HibariFrames HibariNetwork::frames(const std::vector<int64_t>& ids) const {
  const auto speed = static_cast<float>(settings_.speed);
  std::vector<at::Tensor> outputs;
  for (const OnnxOutput& output :
       graph_->run({{.name = "ids", .shape = {1, std::ssize(ids)}, .integers = ids},
                    {.name = "speed", .shape = {1}, .floats = {&speed, 1}}},
                   output_names(), {})) {
    outputs.push_back(to_tensor(output));
  }
  PREDGEN_CHECK(outputs.size() == output_names().size(), "{} outputs", outputs.size());
  const int64_t num_frames = outputs.back().size(-1);
  for (size_t i = 0; i + 1 < outputs.size(); ++i) {
    if (outputs[i].sizes() != at::IntArrayRef({1, kBins, num_frames})) {
      throw Error("Hibari's network gave '{}' in another shape than 1 x {} x {}", output_names()[i],
                  kBins, num_frames);
    }
    outputs[i] = outputs[i][0];
  }
  return {outputs[0], outputs[1], outputs[2], outputs[3], outputs[4], outputs[5].reshape(-1)};
}

}  // namespace predgen
