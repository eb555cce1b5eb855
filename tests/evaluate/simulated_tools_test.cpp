#include "evaluate/simulated_tools.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::evaluate {
namespace {

constexpr const char* kRooms =
    R"({"name": "lamp", "description": "A lamp.", "effects": "idempotent", "seconds": 0.5,)"
    R"( "says": "{room}: {state} {state}", "parameters": {"type": "object", "properties":)"
    R"( {"room": {"type": "string"}, "state": {"type": "string", "enum": ["on", "off"]},)"
    R"( "level": {"type": "integer"}}, "required": ["room", "state"]}})";

std::vector<SimulatedTool> read(const std::string& tools) {
  const TemporaryFolder folder;
  write_file(folder / "tools.json", "{\"tools\": " + tools + "}");
  return read_simulated_tools(folder / "tools.json");
}

TEST(SimulatedTools, AreReadStrictly) {
  const std::vector<SimulatedTool> tools = read(std::string("[") + kRooms + "]");
  ASSERT_EQ(tools.size(), 1u);
  EXPECT_TRUE(tools[0].has_effects());
  EXPECT_EQ(tools[0].seconds, 0.5);
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string tool = kRooms;
    tool.replace(tool.find(from), from.size(), to);
    return [tool] { read("[" + tool + "]"); };
  };
  expect_user_error([] { read("[]"); }, {"\"tools\" must be a list of tools"});
  expect_user_error([] { read(std::string("[") + kRooms + "," + kRooms + "]"); },
                    {"'lamp' is there twice"});
  expect_user_error(changed("lamp", "la mp"), {"'la mp'", "letters, digits"});
  expect_user_error(changed("idempotent", "none"), {"\"effects\" is 'none'"});
  expect_user_error(changed("0.5", "-1"), {"\"seconds\" must be from 0 to 3600"});
  expect_user_error(changed("\"integer\"", "\"integer\", \"minimum\": 3"),
                    {"the parameter 'level' has 'minimum': leave it out"});
  expect_user_error(changed("\"integer\"", "\"array\""), {"'level' must be of the type string"});
  expect_user_error(changed("\"state\"]", "\"stat\"]"), {"requires 'stat', which is no parameter"});
}

TEST(SimulatedTools, TellWhatIsWrongWithACall) {
  const act::Tool lamp = read(std::string("[") + kRooms + "]")[0].tool;
  EXPECT_EQ(call_fault(lamp, {{"room", "hall"}, {"state", "on"}}), "");
  EXPECT_EQ(call_fault(lamp, {{"room", "hall"}, {"state", "on"}, {"level", 3}}), "");
  EXPECT_EQ(call_fault(lamp, {{"room", "hall"}}), "'state' is missing");
  EXPECT_EQ(call_fault(lamp, {{"room", 1}, {"state", "on"}}), "'room' must be of the type string");
  EXPECT_EQ(call_fault(lamp, {{"room", "hall"}, {"state", "dim"}}),
            R"('state' must be one of ["on","off"])");
  EXPECT_EQ(call_fault(lamp, {{"room", "hall"}, {"state", "on"}, {"color", "red"}}),
            "there is no 'color'");
}

TEST(SimulatedTools, TakeTheirTimeOnTheClock) {
  const std::vector<SimulatedTool> tools = read(std::string("[") + kRooms + "]");
  VirtualClock clock(VirtualClock::Computation::kCostTable);
  SimulatedCalls calls(tools, clock);
  const auto begin = [&](const std::string& arguments, const std::stop_token& stop = {}) {
    return calls.begin(tools[0].tool, arguments, stop);
  };
  const auto call = begin(R"({"room": "hall", "state": "on"})");
  EXPECT_FALSE(call->wait(Seconds(0.2)));
  EXPECT_EQ(clock.now(), Seconds(0.2));
  EXPECT_FALSE(call->result());
  EXPECT_TRUE(call->wait(Seconds(9)));
  EXPECT_EQ(clock.now(), Seconds(0.5));
  EXPECT_EQ(call->result()->text, "hall: on {state}");
  const auto bad = begin(R"({"room": "hall"})");
  bad->wait(Seconds(1));
  EXPECT_EQ(bad->result()->status, act::ToolResult::Status::kFailed);
  EXPECT_EQ(bad->result()->text, "Error: 'state' is missing.");
  std::stop_source stop;
  const auto stopped = begin(R"({"room": "hall", "state": "on"})", stop.get_token());
  stop.request_stop();
  EXPECT_EQ(stopped->result()->status, act::ToolResult::Status::kCancelled);
  ASSERT_EQ(calls.begun().size(), 3u);
  EXPECT_EQ(calls.begun()[1].time, Seconds(0.5));
}

}  // namespace
}  // namespace predgen::evaluate
