#include "act/servers/tool_servers.h"

#include <gtest/gtest.h>

namespace predgen::act {
namespace {

TEST(ToolServers, GiveAToolTheNameOfItsServerOnlyIfAnotherHasItsOwn) {
  const std::vector<Tool> tools =
      with_unique_names({{.name = "lamp", .server = "a", .own_name = "lamp"},
                         {.name = "oven", .server = "a", .own_name = "oven"},
                         {.name = "lamp", .server = "b", .own_name = "lamp"},
                         {.name = "o_n", .server = "b", .own_name = "o n"},
                         {.name = "o_n", .server = "b", .own_name = "o/n"}});
  std::vector<std::string> names;
  for (const Tool& tool : tools) names.push_back(tool.name + "=" + tool.own_name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"a__lamp=lamp", "oven=oven", "b__lamp=lamp", "o_n=o n"}));
}

}  // namespace
}  // namespace predgen::act
