// predgen-espeak: text in, audio out, by espeak-ng. README.md has the protocol.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <espeak-ng/speak_lib.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace {

/// Writes a whole frame; the client is gone if that fails, and so is our purpose.
void write_frame(char type, std::string_view payload) {
  const auto length = static_cast<uint32_t>(payload.size());
  std::string frame(1, type);
  for (int shift = 0; shift < 32; shift += 8) frame.push_back(static_cast<char>(length >> shift));
  frame.append(payload);
  for (size_t written = 0; written < frame.size();) {
    const ssize_t n = write(STDOUT_FILENO, frame.data() + written, frame.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) std::exit(1);
    written += static_cast<size_t>(n);
  }
}

int on_samples(short* samples, int num_samples, espeak_EVENT*) {
  if (samples != nullptr && num_samples > 0) {  // int16 of this machine: little-endian
    write_frame('A',
                {reinterpret_cast<const char*>(samples), 2 * static_cast<size_t>(num_samples)});
  }
  return 0;
}

void answer(const nlohmann::json& request) {
  static std::string current_voice;
  const auto voice = request.at("voice").get<std::string>();
  if (voice != current_voice) {
    if (espeak_SetVoiceByName(voice.c_str()) != EE_OK) {
      current_voice.clear();
      return write_frame('V', "espeak-ng has no voice '" + voice + "'");
    }
    current_voice = voice;
  }
  espeak_SetParameter(espeakRATE, request.at("rate").get<int>(), 0);
  espeak_SetParameter(espeakPITCH, request.at("pitch").get<int>(), 0);
  const auto text = request.at("text").get<std::string>();
  if (!text.empty()) {
    const auto result = espeak_Synth(text.c_str(), text.size() + 1, 0, POS_CHARACTER, 0,
                                     espeakCHARS_UTF8 | espeakENDPAUSE, nullptr, nullptr);
    if (result != EE_OK) return write_frame('E', "espeak_Synth failed: " + std::to_string(result));
  }
  write_frame('D', {});
}

}  // namespace

int main() {
  static_assert(std::endian::native == std::endian::little);
  const int rate =
      espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 0, nullptr, espeakINITIALIZE_DONT_EXIT);
  if (rate <= 0) {
    write_frame('E', "espeak-ng finds no voice data: install espeak-ng-data");
    return 1;
  }
  espeak_SetSynthCallback(on_samples);
  const auto sample_rate = static_cast<uint32_t>(rate);
  write_frame('R', {reinterpret_cast<const char*>(&sample_rate), sizeof sample_rate});
  for (std::string line; std::getline(std::cin, line);) {
    try {
      answer(nlohmann::json::parse(line));
    } catch (const nlohmann::json::exception& error) {
      write_frame('E', error.what());
    }
  }
  espeak_Terminate();
  return 0;
}
