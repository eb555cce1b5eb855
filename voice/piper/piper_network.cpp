#include "voice/piper/piper_network.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace predgen {
namespace {

class PiperPiece : public Synthesis {
 public:
  PiperPiece(const PiperModel& model, std::vector<int64_t> ids, int64_t speaker, double speed)
      : model_(model), ids_(std::move(ids)), speaker_(speaker), speed_(speed) {}

  bool advance(std::vector<float>& samples) override {
    const c10::InferenceMode inference;
    if (ids_.empty()) return false;
    const at::Tensor sound = model_.run(std::exchange(ids_, {}), speaker_, speed_);
    const float* const values = sound.const_data_ptr<float>();
    for (int64_t i = 0; i < sound.numel(); ++i) {
      samples.push_back(std::clamp(values[i], -1.0F, 1.0F));
    }
    return false;
  }

 private:
  const PiperModel& model_;
  std::vector<int64_t> ids_;  // empty: already spoken
  int64_t speaker_;
  double speed_;
};

bool takes_speaker(const OnnxGraph& graph) {
  return std::ranges::find(graph.inputs(), "sid") != graph.inputs().end();
}

}  // namespace

PiperModel::PiperModel(std::unique_ptr<const OnnxGraph> graph, PiperConfig config,
                       const PiperSettings& settings)
    : graph_(std::move(graph)), config_(std::move(config)), settings_(settings) {
  check_graph(*graph_, {"input", "input_lengths", "scales"}, {"output"}, "a Piper voice");
  if (!config_.speakers.empty()) {
    check_graph(*graph_, {"sid"}, {}, "a Piper voice with several speakers, as its .json says");
  }
}

at::Tensor PiperModel::run(const std::vector<int64_t>& ids, int64_t speaker, double speed) const {
  const auto chosen = [](double set, double own) { return set < 0 ? own : set; };
  std::vector<OnnxInput> inputs{
      {"input", at::tensor(ids, at::kLong).unsqueeze(0)},
      {"input_lengths", at::tensor({static_cast<int64_t>(ids.size())}, at::kLong)},
      {"scales", at::tensor({chosen(settings_.noise_scale, config_.noise_scale),
                             config_.length_scale / (settings_.speed * speed),
                             chosen(settings_.noise_w, config_.noise_w)},
                            at::kFloat)}};
  if (takes_speaker(*graph_)) inputs.push_back({"sid", at::tensor({speaker}, at::kLong)});
  return graph_->run(inputs, {"output"}).front().reshape(-1);
}

std::unique_ptr<Synthesis> PiperNetwork::speak(const std::string& phonemes) const {
  std::vector<int64_t> ids = model_->config().phoneme_ids(phonemes);
  if (ids.empty()) return nullptr;
  return std::make_unique<PiperPiece>(*model_, std::move(ids), speaker_, speed_);
}

}  // namespace predgen
