// Codec and speaker network on files of tensors, for the Python parity tests and
// bench/dac_decode.py.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>

#include "voice/dac/dac_codec.h"
#include "voice/speaker/load_speaker.h"

using namespace predgen;

namespace {

Waveform read_waveform(const char* file) {
  const SafetensorsFile stored(file);
  return {file, stored.tensor("rate").item<int64_t>(), stored.tensor("samples").clone()};
}

at::Tensor stream(const DacDecoder& decoder, const at::Tensor& codes_KT, int64_t chunk) {
  DacStream clip(decoder);
  std::vector<at::Tensor> parts;
  for (int64_t begin = 0; begin < codes_KT.size(1); begin += chunk) {
    parts.push_back(
        clip.push(codes_KT.narrow(1, begin, std::min(chunk, codes_KT.size(1) - begin))));
  }
  parts.push_back(clip.flush());
  return at::cat(parts);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// "codes" of FROM to "whole" and, for each chunk size, "stream-<size>".
void decode(const char* folder, const char* from, const char* to, int num_chunks, char** chunks) {
  const DacDecoder decoder{DacWeights(folder)};
  const at::Tensor codes_KT = SafetensorsFile(from).tensor("codes").clone();
  std::map<std::string, at::Tensor> results{{"whole", decoder.decode(codes_KT)}};
  for (int i = 0; i < num_chunks; ++i) {
    results[fmt::format("stream-{}", chunks[i])] = stream(decoder, codes_KT, std::atoll(chunks[i]));
  }
  write_safetensors(to, results);
}

/// Prints the best seconds of ROUNDS by OMP_NUM_THREADS threads, of the processors together and by
/// the clock: whole, then for each chunk size.
void time_decode(const char* folder, const char* from, const char* rounds, int num_chunks,
                 char** chunks) {
  const DacDecoder decoder{DacWeights(folder)};
  const at::Tensor codes_KT = SafetensorsFile(from).tensor("codes").clone();
  const auto print_best = [&](const char* name, const auto& run) {
    double work = 1e9, elapsed = 1e9;
    for (int round = 0; round < std::atoi(rounds); ++round) {
      const std::clock_t work_start = std::clock();
      const auto start = std::chrono::steady_clock::now();
      run();
      work = std::min(work, static_cast<double>(std::clock() - work_start) / CLOCKS_PER_SEC);
      elapsed = std::min(elapsed, seconds_since(start));
    }
    std::printf("%s %.6f %.6f\n", name, work, elapsed);
  };
  print_best("whole", [&] { decoder.decode(codes_KT); });
  for (int i = 0; i < num_chunks; ++i) {
    print_best(chunks[i], [&] { stream(decoder, codes_KT, std::atoll(chunks[i])); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  try {
    if (verb == "decode" && argc >= 5) {
      decode(argv[2], argv[3], argv[4], argc - 5, argv + 5);
    } else if (verb == "time" && argc >= 5) {
      time_decode(argv[2], argv[3], argv[4], argc - 5, argv + 5);
    } else if (verb == "encode" && argc == 5) {
      const DacEncoder encoder{DacWeights(argv[2])};
      write_safetensors(argv[4], {{"codes", encoder.encode(read_waveform(argv[3]))}});
    } else if (verb == "embed" && argc == 6) {
      const SpeakerEncoder encoder(argv[2], argv[3]);
      write_safetensors(argv[5], {{"embedding", encoder.embed(read_waveform(argv[4]))}});
    } else {
      std::fprintf(
          stderr,
          "run_codec decode FOLDER CODES TO [CHUNK ..] | time FOLDER CODES ROUNDS [CHUNK ..]"
          " | encode FOLDER WAVEFORM TO | embed NETWORK PROJECTION WAVEFORM TO\n");
      return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "run_codec: %s\n", error.what());
    return 1;
  }
  return 0;
}
