#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/clock.h"
#include "model/transformer.h"
#include "runtime/engine/engine.h"
#include "text/token_ids.h"

namespace predgen::evaluate {

struct SpeedConfig {
  int64_t prompt = 512;                 // tokens of context for prefill, decoding and verification
  int64_t generate = 128;               // tokens of a decoding run; most of an answer; >= 2
  std::vector<int64_t> drafts{16, 32};  // tokens of a draft, and of a Jacobi block; each >= 2
  int64_t runs = 5;                     // after one to warm up
  uint64_t seed = 0;                    // of the random ids

  /// Positions that everything but the answers takes.
  int64_t num_positions() const;
};

/// Conversations to answer, at least one: how many guesses a Jacobi pass commits depends on the
/// text.
struct SpeedTexts {
  std::vector<TokenIds> prompts;  // run i answers prompt i, wrapping around
  TokenIds stop_tokens;
};

/// One way to generate. Entry i of each belongs to run i; nullopt: the answer had only one token.
struct AnswerSpeed {
  int64_t block = 1;  // tokens that one pass can give; 1: the autoregressive generator
  std::vector<std::optional<double>> seconds_per_pass{}, passes_per_token{}, tokens_per_second{};
  std::vector<std::optional<double>> speedup{};  // tokens per second relative to autoregressive
};

struct VerifySpeed {
  int64_t draft = 0;
  std::vector<double> seconds{};   // a pass and its verdict
  std::vector<double> in_steps{};  // the same in decoding steps of the same run and context
};

/// Entry i of every list belongs to run i. Seconds are measured around the call alone, which ends
/// when the tokens are on the host.
struct ModelSpeed {
  std::vector<double> prefill;      // s, of all prompt tokens in one pass
  std::vector<double> decode;       // s per token, mean of a run that begins after the prompt
  std::vector<double> page_faults;  // of these runs, per token
  std::vector<std::optional<double>> allocated_bytes;  // of these runs, per token (MemoryRequests)
  std::vector<double> step;                            // s, of one token right after the prompt
  std::vector<VerifySpeed> verify;
  std::vector<AnswerSpeed> answers;  // the autoregressive one, then one by draft length
};

/// Runs what a conversation runs (speculator, generators, greedy verifier). Parts of a run follow
/// each other, so that a disturbance affects all of them. `on_part` is called after each of the
/// num_speed_parts(). After a stop it throws Interrupted between two passes.
ModelSpeed measure_speed(Engine& engine, const SpeedConfig& config, const SpeedTexts& texts,
                         const Clock& clock, const std::function<void()>& on_part,
                         const std::stop_token& stop);
int64_t num_speed_parts(const SpeedConfig& config);

/// What one decoding step with one new token has to read from memory. Excludes activations, which
/// stay in caches, and the one row of an embedding table that is not also the head.
struct DecodeBytes {
  int64_t weights = 0;          // of layers, norms and head, as they are in memory
  int64_t idle = 0;             // of experts that a token does not choose; they are not read
  int64_t adapter = 0;          // LoRA matrices beside them
  int64_t kv_per_position = 0;  // keys and values of all layers, also of those that share some

  /// `positions` in the cache, the new one included; a mean over steps may be fractional. A sliding
  /// window masks positions, but they are still read.
  double per_token(double positions) const;
};

/// `quantization`: what the model was loaded with; weights that run as stored are detected.
DecodeBytes decode_bytes(const Transformer& model, Quantization quantization);

}  // namespace predgen::evaluate
