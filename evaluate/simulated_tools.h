#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "act/background_calls.h"
#include "core/clock.h"

namespace predgen::evaluate {

/// A tool that only says something, after some time.
struct SimulatedTool {
  act::Tool tool{};
  std::string says{};  // {argument} stands for its value
  double seconds = 0;  // that a call takes

  bool has_effects() const { return tool.effects != act::Effects::kRead; }
};

/// {"tools": [{"name", "description", "parameters", "effects", "seconds", "says"}, ..]}. Parameters
/// are plain values, perhaps some of a list ("enum"). UserError, which names the tool, for others.
std::vector<SimulatedTool> read_simulated_tools(const std::filesystem::path& file);

/// What the chat template is given.
ToolSet tool_set(const std::vector<SimulatedTool>& tools);

/// Null: there is no tool of this name.
const SimulatedTool* find_tool(const std::vector<SimulatedTool>& tools, const std::string& name);

/// Why the tool cannot be called with `arguments`, a JSON object; empty: it can.
std::string call_fault(const act::Tool& tool, const Json& arguments);

/// Calls of such tools in the time of `clock`. Arguments that do not fit fail, as with a server.
/// Borrows both.
class SimulatedCalls : public act::BackgroundCalls {
 public:
  struct Begun {
    const SimulatedTool* tool;
    Seconds time;
  };

  SimulatedCalls(const std::vector<SimulatedTool>& tools, Clock& clock)
      : tools_(tools), clock_(clock) {}

  std::vector<act::Tool> tools() const override;
  std::unique_ptr<act::BackgroundCall> begin(const act::Tool& tool, const std::string& arguments,
                                             const std::stop_token& stop) override;
  std::optional<std::string> expected(const act::Tool&, const std::string&) const override {
    return std::nullopt;
  }
  /// All calls so far, in order.
  const std::vector<Begun>& begun() const { return begun_; }

 private:
  const std::vector<SimulatedTool>& tools_;
  Clock& clock_;
  std::vector<Begun> begun_;
};

}  // namespace predgen::evaluate
