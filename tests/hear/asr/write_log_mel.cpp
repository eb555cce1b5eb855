// What smart-turn sees of 32-bit samples on standard input, as 32-bit floats [80, 800] on standard
// output, for the parity test.
#include <cstdio>
#include <vector>

#include "hear/asr/ear.h"
#include "hear/asr/log_mel.h"

int main() {
  using namespace predgen::ears;
  std::vector<float> sound(Ear::kTurnSound);
  sound.resize(std::fread(sound.data(), sizeof(float), sound.size(), stdin));
  const std::vector<float> picture = LogMel()(normalized_window(sound, Ear::kTurnSound));
  return std::fwrite(picture.data(), sizeof(float), picture.size(), stdout) == picture.size() ? 0
                                                                                              : 1;
}
