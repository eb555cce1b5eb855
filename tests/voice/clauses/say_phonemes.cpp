// Reads requests, a JSON object a line, and answers each with one. For the parity tests against
// Python.
//   {"text", "longest"}              a text: {"pieces": its phonemes}
//   {"hibari": folder, "phonemes"}   {"letters", "ids"}
//   .. and {"frames"}                a file for what the network says: float32 [5 * 601 + 1,
//   frames]
//   .. and {"noise", "output"}       files: complex64 [frames, 601]; float32 samples
//   {"piper": .onnx file, "phonemes", "output"}   {"ids"}, said without what the network draws

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/log.h"
#include "hear/onnx/onnx_session.h"
#include "voice/clauses/spoken_pieces.h"
#include "voice/espeak/espeak_helper.h"
#include "voice/hibari/hibari_voice.h"
#include "voice/piper/piper_voice.h"

namespace {

using namespace predgen;

void write_samples(const std::string& file, std::span<const float> samples) {
  write_file(file,
             std::string_view(reinterpret_cast<const char*>(samples.data()), samples.size_bytes()));
}

Json pieces_of(const Json& request, EspeakPhonemes& espeak) {
  Json phonemes = Json::array();
  for (const SpokenPiece& piece :
       spoken_pieces(json_get<std::string>(request, "text", "request"),
                     json_get<int64_t>(request, "longest", "request"),
                     [&](const auto& clauses) { return espeak.pronounce(clauses, "en-us"); })) {
    phonemes.push_back(piece.phonemes);
  }
  return {{"pieces", phonemes}};
}

/// By default ONNX Runtime is the one that the program has.
std::unique_ptr<const OnnxSession> open_network(const std::filesystem::path& file,
                                                const Json& request) {
  return std::make_unique<const OnnxSession>(
      file, OnnxSessionOptions{.library = request.value("library", std::string())});
}

using Networks = std::map<std::pair<std::string, std::string>, HibariNetwork>;

/// Of networks that were asked before.
const HibariNetwork& hibari_network(const Json& request, Networks& networks) {
  const std::filesystem::path folder = json_get<std::string>(request, "hibari", "request");
  const std::pair key(folder.string(), request.value("library", std::string()));
  const auto known = networks.find(key);
  if (known != networks.end()) return known->second;
  HibariNetwork network(open_network(folder / "hibari.onnx", request),
                        HibariAlphabet(folder / "vocab.json"), {});
  return networks.emplace(key, std::move(network)).first->second;
}

Json say_with_hibari(const Json& request, const HibariNetwork& network) {
  const auto letters = hibari_phonemes(json_get<std::string>(request, "phonemes", "request"));
  const std::vector<int64_t> ids = network.alphabet().ids(letters);
  if (request.contains("frames")) {
    const HibariFrames frames = network.frames(ids);
    const at::Tensor all = at::cat({frames.voice_BF, frames.turn_BF, frames.noise_BF,
                                    frames.rest_BF, frames.phase_BF, frames.pitch_F.unsqueeze(0)});
    const at::Tensor whole = all.contiguous();
    write_samples(json_get<std::string>(request, "frames", "request"),
                  {whole.const_data_ptr<float>(), static_cast<size_t>(whole.numel())});
  }
  if (request.contains("noise")) {
    std::string bytes = read_file(json_get<std::string>(request, "noise", "request"));
    const auto count = static_cast<int64_t>(bytes.size() / (601 * 2 * sizeof(float)));
    const at::Tensor noise = at::view_as_complex(at::from_blob(bytes.data(), {count, 601, 2}));
    HibariSound sound(network.frames(ids));
    std::vector<float> samples;
    constexpr int64_t kStep = 40;
    for (int64_t at = 0; at < count; at += kStep) {
      sound.push(noise.slice(0, at, std::min(at + kStep, count)), samples);
    }
    write_samples(json_get<std::string>(request, "output", "request"), samples);
  }
  return {{"letters", letters}, {"ids", ids}};
}

Json say_with_piper(const Json& request) {
  const auto file = json_get<std::string>(request, "piper", "request");
  const PiperModel model(open_network(file, request), PiperConfig::load(file + ".json"),
                         {.noise_scale = 0, .noise_w = 0});
  const auto ids =
      model.config().phoneme_ids(json_get<std::string>(request, "phonemes", "request"));
  const OnnxOutput said = model.run(ids, 0);
  write_samples(json_get<std::string>(request, "output", "request"), said.values);
  return {{"ids", ids}};
}

}  // namespace

int main() {
  try {
    configure_log("warn");  // to stderr: stdout is for the answers
    const c10::InferenceMode inference;
    EspeakPhonemes espeak({}, Seconds(10), "this test");
    Networks networks;
    for (std::string line; std::getline(std::cin, line);) {
      const Json request = parse_json(line, "a line of standard input");
      const Json answer = request.contains("text") ? pieces_of(request, espeak)
                          : request.contains("hibari")
                              ? say_with_hibari(request, hibari_network(request, networks))
                              : say_with_piper(request);
      std::cout << answer.dump() << "\n";
    }
  } catch (const std::exception& error) {
    std::cerr << "say_phonemes: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
