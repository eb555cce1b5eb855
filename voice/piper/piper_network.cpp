#include "voice/piper/piper_network.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.h"

namespace predgen {
namespace {

class PiperPiece : public Synthesis {
 public:
  PiperPiece(const PiperModel& model, std::vector<int64_t> ids, int64_t speaker, double speed)
      : model_(model), ids_(std::move(ids)), speaker_(speaker), speed_(speed) {}

  bool advance(std::vector<float>& samples) override {
    if (ids_.empty()) return false;
    const OnnxOutput sound = model_.run(std::exchange(ids_, {}), speaker_, speed_);
    for (const float sample : sound.values) samples.push_back(std::clamp(sample, -1.0F, 1.0F));
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

OnnxOutput PiperModel::run(const std::vector<int64_t>& ids, int64_t speaker, double speed) const {
  const auto chosen = [](double set, double own) {
    return static_cast<float>(set < 0 ? own : set);
  };
  const std::array<float, 3> scales{
      chosen(settings_.noise_scale, config_.noise_scale),
      static_cast<float>(config_.length_scale / (settings_.speed * speed)),
      chosen(settings_.noise_w, config_.noise_w)};
  const std::array<int64_t, 1> length{std::ssize(ids)};
  std::vector<OnnxInput> inputs{{.name = "input", .shape = {1, length[0]}, .integers = ids},
                                {.name = "input_lengths", .shape = {1}, .integers = length},
                                {.name = "scales", .shape = {3}, .floats = scales}};
  if (takes_speaker(*graph_)) {
    inputs.push_back({.name = "sid", .shape = {1}, .integers = {&speaker, 1}});
  }
  return graph_->run(inputs, {"output"}, {}).front();
}

std::unique_ptr<Synthesis> PiperNetwork::speak(const std::string& phonemes) const {
  std::vector<int64_t> ids = model_->config().phoneme_ids(phonemes);
  if (ids.empty()) return nullptr;
  return std::make_unique<PiperPiece>(*model_, std::move(ids), speaker_, speed_);
}

}  // namespace predgen
