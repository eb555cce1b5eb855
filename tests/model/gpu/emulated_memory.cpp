#include "tests/model/gpu/emulated_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "tests/model/gpu/emulated_cuda.h"

namespace predgen {
namespace {

constexpr size_t kMostProblems = 20;
constexpr int kWarpLanes = 32;
constexpr int kBanks = 32;
constexpr int kUnit = 2;  // bytes whose accesses are told apart

/// The times up to which each thread's accesses are known to be over, by block.
using Times = std::map<int, std::vector<uint32_t>>;

void join(Times& to, const Times& from) {
  for (const auto& [block, times] : from) {
    std::vector<uint32_t>& mine = to[block];
    if (mine.size() < times.size()) mine.resize(times.size());
    for (size_t i = 0; i < times.size(); ++i) mine[i] = std::max(mine[i], times[i]);
  }
}

/// An access: of thread `thread` of the launch at its time `time`.
struct Event {
  int thread = -1;
  uint32_t time = 0;
};

struct Clock {
  std::shared_ptr<const Times> known;  // of the others; shared by those who met
  uint32_t time = 1;                   // own
  Times fenced, taken;                 // known at the last fence; by atomic operations since
};

/// What happened to kUnit bytes of memory in a launch.
struct Cell {
  Event write, read;
  const void* write_site = nullptr;
  std::unique_ptr<std::vector<uint32_t>> reads;  // by thread, once one event is not enough
  bool is_coming = false;                        // by a copy that nobody has waited for
};

class Shadow {
 public:
  Cell& at(uintptr_t address) {
    const uintptr_t page = address / kPageBytes;
    if (page != last_ || cells_ == nullptr) {
      auto& found = pages_[page];
      if (!found) found = std::make_unique<Cell[]>(kPageBytes / kUnit);
      last_ = page;
      cells_ = found.get();
    }
    return cells_[address % kPageBytes / kUnit];
  }

 private:
  static constexpr uintptr_t kPageBytes = 256;
  std::unordered_map<uintptr_t, std::unique_ptr<Cell[]>> pages_;
  uintptr_t last_ = 0;
  Cell* cells_ = nullptr;
};

/// The accesses of a warp's lanes by one instruction, at its n-th time since lanes last met.
struct Together {
  uint32_t lanes = 0;
  uintptr_t addresses[kWarpLanes];
};
struct Instruction {
  int size = 0;
  bool is_write = false;
  int counts[kWarpLanes] = {};  // of each lane
  std::vector<Together> accesses;
};
using Warp = std::unordered_map<const void*, Instruction>;  // by where it is

/// Wavefronts of 4 bytes a bank: 8 bytes a lane take two halves of a warp, 16 bytes four quarters.
void add_wavefronts(const Together& together, int size, BankUse& use) {
  const int phases = std::max(size / 4, 1), lanes = kWarpLanes / phases;
  ++use.accesses;
  for (int phase = 0; phase < phases; ++phase) {
    std::set<uintptr_t> words;
    for (int lane = phase * lanes; lane < (phase + 1) * lanes; ++lane) {
      if ((together.lanes >> lane & 1) == 0) continue;
      for (int i = 0; i < std::max(size, 4); i += 4) {
        words.insert(together.addresses[lane] / 4 + static_cast<uintptr_t>(i / 4));
      }
    }
    if (words.empty()) continue;
    int in_bank[kBanks] = {};
    for (const uintptr_t word : words) ++in_bank[word % kBanks];
    use.wavefronts += *std::ranges::max_element(in_bank);
    use.least += (std::ssize(words) + kBanks - 1) / kBanks;
  }
}

size_t log2_of(int size) {
  return static_cast<size_t>(std::countr_zero(static_cast<unsigned>(size)));
}

}  // namespace

class EmulationChecks::Watch : public EmulationWatch, public EmulatedAccesses {
 public:
  explicit Watch(uint64_t seed) : is_interrupted_(seed != 0), random_(seed) {}

  void begin_launch(int num_threads) override {
    num_threads_ = num_threads;
    blocks_.clear();
    number_ = -1;
    global_ = {};
    atomics_.clear();
  }
  void end_launch() override {}
  void begin_block(int block) override {
    blocks_[block].warps.resize(static_cast<size_t>((num_threads_ + kWarpLanes - 1) / kWarpLanes));
    Clock clock;
    clock.known = std::make_shared<const Times>();
    blocks_[block].clocks.assign(static_cast<size_t>(num_threads_), clock);
  }
  void end_block(int block) override {
    for (Warp& warp : blocks_.at(block).warps) count_banks(warp);
    blocks_.erase(block);
    number_ = -1;
  }
  void meet(int block, int begin, int end) override {
    auto known = std::make_shared<Times>();
    std::set<const Times*> joined;
    const std::span<Clock> threads =
        std::span(blocks_.at(block).clocks)
            .subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    for (const Clock& clock : threads) {
      if (joined.insert(clock.known.get()).second) join(*known, *clock.known);
    }
    std::vector<uint32_t>& own = (*known)[block];
    own.resize(static_cast<size_t>(num_threads_));
    for (size_t i = 0; i < threads.size(); ++i) {
      own[static_cast<size_t>(begin) + i] = threads[i].time++;
    }
    for (Clock& clock : threads) clock.known = known;
    for (int warp = begin / kWarpLanes; warp * kWarpLanes < end; ++warp) {
      count_banks(blocks_.at(block).warps[static_cast<size_t>(warp)]);
    }
  }

  void send_copy(const void* to, const void* from, const void* site) override {
    if (from != nullptr) see(from, 16, false, site);
    if (!see(to, 16, true, site)) return;
    for_cells(to, 16, [](Cell& cell) { cell.is_coming = true; });
  }
  void receive_copy(const void* to) override {
    find_block(running_in_emulation());
    for_cells(to, 16, [](Cell& cell) { cell.is_coming = false; });
    see(to, 16, true, nullptr);
  }
  void fence() override {
    Clock& clock = clock_of(running_in_emulation());
    Times known = *clock.known;
    join(known, clock.taken);
    clock.taken.clear();
    clock.known = std::make_shared<const Times>(known);
    const EmulatedThread running = running_in_emulation();
    std::vector<uint32_t>& own = known[running.block];
    own.resize(static_cast<size_t>(num_threads_));
    own[static_cast<size_t>(running.thread)] = clock.time++;
    clock.fenced = std::move(known);
  }
  void use_atomic(const void* place) override {
    Clock& clock = clock_of(running_in_emulation());
    Times& given = atomics_[place];
    join(clock.taken, given);
    join(given, clock.fenced);
  }

  /// An access of the thread that runs. False if it was not to memory that is checked.
  bool see(const void* place, int size, bool is_write, const void* site) {
    const EmulatedThread running = running_in_emulation();
    const auto* bytes = static_cast<const char*>(place);
    if (running.block < 0 || within(running.stack, bytes)) return false;
    find_block(running);
    ++report_.num_accesses;
    const auto address = reinterpret_cast<uintptr_t>(place);
    if (size <= 16 && std::has_single_bit(static_cast<unsigned>(size)) &&
        address % static_cast<uintptr_t>(size) != 0) {
      complain(site, "{} bytes at {}, which are not aligned", size, place);
    }
    const bool is_shared = within_shared(bytes, size, site);
    if (is_shared && size <= 16 && std::has_single_bit(static_cast<unsigned>(size)))
      note_banks(running, address, size, is_write, site);
    const Event event{.thread = running.block * num_threads_ + running.thread,
                      .time = clock_of(running).time};
    for_cells(place, size, [&](Cell& cell) {
      if (is_shared && !is_write && cell.write.thread < 0) ++report_.num_unwritten;
      if (cell.is_coming) complain(site, "an access to what a copy is still bringing");
      if (!is_known(running, cell.write)) report_race(running, cell, site, is_write);
      is_write ? write(running, cell, event, site) : read(running, cell, event);
    });
    return true;
  }
  /// Before an access of the kernel.
  void interrupt() {
    if (is_interrupted_ && running_in_emulation().block >= 0 && random_() % 64 == 0) {
      yield_in_emulation();
    }
  }

  const EmulationReport& report() const { return report_; }

 private:
  struct BlockState {
    Shadow shared;
    std::vector<Warp> warps;
    std::vector<Clock> clocks;
  };
  /// The block of the thread that runs.
  void find_block(const EmulatedThread& running) {
    if (running.block == number_) return;
    number_ = running.block;
    block_ = &blocks_.at(number_);
  }

  static bool within(std::span<const char> memory, const char* place) {
    return place >= memory.data() && place < memory.data() + memory.size();
  }
  bool within_shared(const char* place, int size, const void* site) {
    if (within(emulated_shared_variables(), place)) return true;
    const std::span<const char> memory = emulated_memory();
    if (memory.empty()) return false;
    // What follows is not another tensor's, but the guard's.
    if (place >= memory.data() + memory.size() && place < memory.data() + memory.size() + 4096) {
      complain(site, "byte {} of the {} that the block asked for", place - memory.data(),
               memory.size());
      return true;
    }
    if (within(memory, place) && place + size > memory.data() + memory.size()) {
      complain(site, "bytes to {} of the {} that the block asked for", place + size - memory.data(),
               memory.size());
    }
    return within(memory, place);
  }

  Clock& clock_of(const EmulatedThread& running) {
    find_block(running);
    return block_->clocks[static_cast<size_t>(running.thread)];
  }
  bool is_known(const EmulatedThread& running, const Event& event) {
    if (event.thread < 0) return true;
    const int block = event.thread / num_threads_, thread = event.thread % num_threads_;
    if (block == running.block && thread == running.thread) return true;
    const Times& known = *clock_of(running).known;
    const auto found = known.find(block);
    return found != known.end() && found->second[static_cast<size_t>(thread)] >= event.time;
  }
  void read(const EmulatedThread& running, Cell& cell, const Event& event) {
    if (!cell.reads && is_known(running, cell.read)) {
      cell.read = event;
      return;
    }
    if (!cell.reads) {
      cell.reads = std::make_unique<std::vector<uint32_t>>();
      note(*cell.reads, cell.read);
    }
    note(*cell.reads, event);
  }
  static void note(std::vector<uint32_t>& reads, const Event& event) {
    if (std::ssize(reads) <= event.thread) reads.resize(static_cast<size_t>(event.thread) + 1);
    reads[static_cast<size_t>(event.thread)] = event.time;
  }
  void write(const EmulatedThread& running, Cell& cell, const Event& event, const void* site) {
    bool is_known_to_all = is_known(running, cell.read);
    if (cell.reads) {
      for (int i = 0; i < std::ssize(*cell.reads); ++i) {
        const uint32_t time = (*cell.reads)[static_cast<size_t>(i)];
        is_known_to_all = is_known_to_all && (time == 0 || is_known(running, {i, time}));
      }
    }
    if (!is_known_to_all) report_race(running, cell, site, true);
    cell.read = {};
    cell.reads.reset();
    cell.write = event;
    cell.write_site = site;
  }

  template <class Visit>
  void for_cells(const void* place, int size, const Visit& visit) {
    const auto begin = reinterpret_cast<uintptr_t>(place);
    const auto* bytes = static_cast<const char*>(place);
    const std::span<const char> memory = emulated_memory();
    const bool is_shared =
        within(emulated_shared_variables(), bytes) ||
        (!memory.empty() && bytes >= memory.data() && bytes < memory.data() + memory.size() + 4096);
    Shadow& shadow = is_shared ? block_->shared : global_;
    for (uintptr_t at = begin; at < begin + static_cast<uintptr_t>(size); at += kUnit) {
      visit(shadow.at(at));
    }
  }

  void note_banks(const EmulatedThread& running, uintptr_t address, int size, bool is_write,
                  const void* site) {
    if (site == nullptr) return;  // a copy's end
    const int lane = running.thread % kWarpLanes;
    Instruction& instruction =
        block_->warps[static_cast<size_t>(running.thread / kWarpLanes)][site];
    instruction.size = size;
    instruction.is_write = is_write;
    const auto count = static_cast<size_t>(instruction.counts[lane]++);
    if (instruction.accesses.size() <= count) instruction.accesses.resize(count + 1);
    Together& together = instruction.accesses[count];
    together.lanes |= 1u << lane;
    together.addresses[lane] = address;
  }
  void count_banks(Warp& warp) {
    for (auto& [site, instruction] : warp) {
      auto& uses = instruction.is_write ? report_.writes : report_.reads;
      for (const Together& together : instruction.accesses) {
        add_wavefronts(together, instruction.size, uses[log2_of(instruction.size)]);
      }
      instruction.accesses.clear();
      std::ranges::fill(instruction.counts, 0);
    }
  }

  void report_race(const EmulatedThread& running, const Cell& cell, const void* site,
                   bool is_write) {
    complain(site,
             "a {} by thread {} of block {} without an order with the {} of thread {} of "
             "block {}, written at {}",
             is_write ? "write" : "read", running.thread, running.block,
             is_known(running, cell.write) ? "reads" : "write",
             std::max(cell.write.thread, 0) % num_threads_,
             std::max(cell.write.thread, 0) / num_threads_, cell.write_site);
  }
  template <class... Args>
  void complain(const void* site, fmt::format_string<Args...> text, Args&&... args) {
    if (report_.problems.size() >= kMostProblems || !complained_.insert(site).second) return;
    report_.problems.push_back(
        fmt::format("at {}: {}", site, fmt::format(text, std::forward<Args>(args)...)));
  }

  const bool is_interrupted_;
  std::mt19937_64 random_;
  int num_threads_ = 0;
  std::map<int, BlockState> blocks_;
  int number_ = -1;
  BlockState* block_ = nullptr;  // of number_
  Shadow global_;
  std::map<const void*, Times> atomics_;
  std::set<const void*> complained_;
  EmulationReport report_;
};

namespace {

EmulationChecks::Watch* checking = nullptr;

}  // namespace

EmulationChecks::EmulationChecks(uint64_t seed) : watch_(std::make_unique<Watch>(seed)) {
  watch_emulation(watch_.get());
  watch_accesses(watch_.get());
  checking = watch_.get();
}
EmulationChecks::~EmulationChecks() {
  watch_emulation(nullptr);
  watch_accesses(nullptr);
  checking = nullptr;
}
EmulationReport EmulationChecks::report() const { return watch_->report(); }

namespace {

void access(const void* place, size_t size, bool is_write, const void* site) {
  if (checking == nullptr) return;
  checking->interrupt();
  checking->see(place, static_cast<int>(size), is_write, site);
}

}  // namespace

}  // namespace predgen

// What the compiler calls where a source is compiled with -fsanitize=thread: in place of its
// library. NOLINTBEGIN(bugprone-reserved-identifier)
#define PREDGEN_ACCESSES(size)                                        \
  void __tsan_read##size(void* place) {                               \
    predgen::access(place, size, false, __builtin_return_address(0)); \
  }                                                                   \
  void __tsan_write##size(void* place) {                              \
    predgen::access(place, size, true, __builtin_return_address(0));  \
  }
extern "C" {
PREDGEN_ACCESSES(1)
PREDGEN_ACCESSES(2)
PREDGEN_ACCESSES(4)
PREDGEN_ACCESSES(8)
PREDGEN_ACCESSES(16)
void __tsan_read_range(void* place, size_t size) {
  predgen::access(place, size, false, __builtin_return_address(0));
}
void __tsan_write_range(void* place, size_t size) {
  predgen::access(place, size, true, __builtin_return_address(0));
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
char __tsan_atomic8_load(const volatile char* place, int) {
  return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}
}
// NOLINTEND(bugprone-reserved-identifier)
