#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace predgen {

/// What goes first when not everything fits into one pass.
enum class Priority { kSpeculative, kFirstSentence, kCommitted };

/// A request that wants a part in the next pass.
struct AskedOfPass {
  std::string_view client{};
  const void* call = nullptr;  // Engine::run(), which may ask for several
  Priority priority = Priority::kCommitted;
  int64_t num_pending = 0, num_drafted = 0;  // tokens
  /// The last pass that an answer of its client had a part in; 0: not a recent one.
  int64_t last_pass = 0;
  int64_t num_skipped = 0;  // passes since it came, or had a part in one

  int64_t num_tokens() const { return num_pending + num_drafted; }
  /// The last pending token and the draft are run together, however little room there is.
  int64_t last_tokens() const { return 1 + num_drafted; }
};

/// How much of passes speculation may have once it makes way (Engine::yield_speculation()).
struct SpeculationRoom {
  /// By how much it may make a pass longer that has other work, as a share. Chosen on a household's
  /// prompts (docs/measurements.md, "A household"): with 0.1 too few drafts were run whole, with
  /// 0.25 answers waited too long where tokens are dear.
  double longer = 0.15;
  /// How long a pass without other work may take, in passes over one token: an answer that is asked
  /// for meanwhile waits for its end. Set by hand, not compared with others.
  double alone = 4;
};

struct PassLimits {
  int64_t tokens = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> yields_at{};  // Engine::yield_speculation()
  SpeculationRoom speculation{};       // then
  std::optional<int64_t> shares_at{};  // Engine::share_fairly()
  int64_t num_recent_clients = 0;      // with an answer in a recent pass
};

/// How many tokens of each the next pass has; 0: it waits. Of equally urgent requests each client
/// has an equal share, and what others leave of theirs; the client without a part for longest goes
/// first, of its requests the shortest one, unless another was skipped eight times: all go on.
std::vector<int64_t> plan_pass(std::span<const AskedOfPass> asked, const PassLimits& limits);

}  // namespace predgen
