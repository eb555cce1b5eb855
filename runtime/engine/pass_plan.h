#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace predgen {

/// What goes first when not everything fits into one pass.
enum class Priority { kSpeculative, kCommitted };

/// A request for part of the next pass.
struct AskedOfPass {
  std::string_view client{};
  const void* call = nullptr;  // Engine::run(), which may ask for several
  Priority priority = Priority::kCommitted;
  int64_t num_pending = 0, num_drafted = 0;  // tokens
  /// The last pass with an answer of its client; 0: not a recent one.
  int64_t last_pass = 0;
  int64_t num_skipped = 0;  // passes since it came, or was last in one

  int64_t num_tokens() const { return num_pending + num_drafted; }
  /// The last pending token and the draft are run together, however little room there is.
  int64_t last_tokens() const { return 1 + num_drafted; }
};

/// How much of a pass speculation may have once it gives way (Engine::yield_speculation()).
struct SpeculationRoom {
  /// How much longer it may make a pass with other work, as a share. Chosen on one half of the
  /// prompts (docs/measurements.md, "Several people at once"): with 0.1 too few drafts were run
  /// whole, with 0.25 answers waited too long where tokens are expensive.
  double longer = 0.15;
  /// How long a pass without other work may take, in single-token passes: an answer requested
  /// meanwhile waits for it to end. Set by hand, not compared with other values.
  double alone = 4;
};

struct PassLimits {
  int64_t tokens = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> yields_at{};  // Engine::yield_speculation()
  SpeculationRoom speculation{};       // then
  std::optional<int64_t> shares_at{};  // Engine::share_fairly()
  int64_t num_recent_clients = 0;      // with an answer in a recent pass
};

/// How many tokens of each request the next pass has; 0: it waits. Among equally urgent requests
/// each client has an equal share, plus what others leave of theirs; the client left out longest
/// goes first, with its shortest request, unless another was skipped eight times: none starves.
std::vector<int64_t> plan_pass(std::span<const AskedOfPass> asked, const PassLimits& limits);

}  // namespace predgen
