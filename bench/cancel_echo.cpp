// Answers in a made room, as the echo canceller of `predgen talk` leaves them: see bench/echo.py.
//
// usage: predgen_echo_bench ECHO NOISE CLEANED RAW
//
// On each line of standard input: FAR NEAR BEGIN. FAR is played, and NEAR (or -) is said from BEGIN
// seconds after that began; then both pause for a second. All lines are one stretch of time. ECHO:
// its strength, 0.3 for -10 dB. Files, read and written, have 16 kHz, mono, 32-bit floats. Prints a
// line for each: the sample at which it begins, that behind it, and whether the canceller had
// learnt the room when it began.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "audio/echo/echo_cancelling_source.h"
#include "tests/fakes/echoing_room.h"

namespace {

using namespace predgen;

std::vector<float> read_samples(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto* samples = reinterpret_cast<const float*>(bytes.data());
  return {samples, samples + bytes.size() / sizeof(float)};
}

void write_samples(const std::string& name, const std::vector<float>& samples) {
  std::ofstream(name, std::ios::binary)
      .write(reinterpret_cast<const char*>(samples.data()),
             static_cast<std::streamsize>(samples.size() * sizeof(float)));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::fputs("usage: predgen_echo_bench ECHO NOISE CLEANED RAW\n", stderr);
    return 2;
  }
  PlayedSound played;
  played.begin(kRoomRate);
  auto given = std::make_unique<EchoingRoom>(
      EchoingRoom::Config{.echo = std::atof(arguments[1]),
                          .noise = static_cast<float>(std::atof(arguments[2]))},
      played);
  EchoingRoom& room = *given;
  EchoCancellingSource source(std::move(given), played);
  std::vector<float> cleaned;
  const auto pass = [&](size_t num_samples) {
    for (const size_t end = cleaned.size() + num_samples; cleaned.size() < end;) {
      const std::span<const float> block = source.read();
      cleaned.insert(cleaned.end(), block.begin(), block.end());
    }
  };
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string far, near;
    double begin = 0;
    words >> far >> near >> begin;
    const size_t from = cleaned.size();
    const bool has_learnt = source.has_learnt();
    const std::vector<float> answer = read_samples(far);
    std::vector<float> said(static_cast<size_t>(begin * kRoomRate));
    if (near != "-") {
      const std::vector<float> voice = read_samples(near);
      said.insert(said.end(), voice.begin(), voice.end());
      room.say(said);
    }
    room.loudspeaker().push(answer);
    pass(std::max(answer.size(), said.size()) + kRoomRate);
    std::printf("%zu %zu %d\n", from, cleaned.size(), has_learnt ? 1 : 0);
  }
  write_samples(arguments[3], cleaned);
  write_samples(arguments[4], room.all);
}
