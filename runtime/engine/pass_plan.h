#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
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
  int64_t num_cached = 0;                    // tokens before them, which each of them reads
  double owed = 0;                           // by its client (PassPlan)
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

/// What reading a cached token costs, as a share of a pass over one token: for the first token that
/// a request has in a pass, and for each further one, as kernels of a GPU read for several at once.
struct ReadingCosts {
  double first = 0, further = 0;
};

struct PassLimits {
  int64_t tokens = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> yields_at{};  // Engine::yield_speculation()
  SpeculationRoom speculation{};       // then
  std::optional<int64_t> shares_at{};  // Engine::share_fairly()
  ReadingCosts reading{};              // then
  int64_t num_recent_clients = 0;      // with an answer in a recent pass
};

struct PassPlan {
  std::vector<int64_t> counts;  // tokens of each request in the next pass; 0: it waits
  /// By how much a client's parts cost more than it may have beside others, in tokens. It has less
  /// of the next passes, until that is paid.
  std::map<std::string, double, std::less<>> owed;
};

/// Among equally urgent requests each client has an equal share, plus what others leave of theirs;
/// the client left out longest goes first, with its cheapest request, unless another was skipped
/// eight times: none starves.
PassPlan plan_pass(std::span<const AskedOfPass> asked, const PassLimits& limits);

}  // namespace predgen
