#include "core/machine_use.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "core/helper_process.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

TEST(MachineUse, OwnTimeAndThatOfHelpersAreCountedApart) {
  const MachineUse before = machine_use();
  HelperProcess busy("/bin/sh", {.arguments = {"-c",
                                               "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; "
                                               "echo; read -r line"}});
  std::string line(1, '\0');
  ASSERT_TRUE(busy.receive(line, Seconds(60)));
  const MachineUse used = machine_use().since(before);
  EXPECT_GT(used.helpers, Seconds(0.01));
  EXPECT_LT(used.own, used.helpers) << "waiting takes nothing";
}

TEST(MachineUse, ProcessorsTellTheirJoules) {
  const TemporaryFolder folder;
  const auto set = [&](const std::string& domain, const std::string& microjoules) {
    std::filesystem::create_directories(folder.path() / domain);
    std::ofstream(folder.path() / domain / "energy_uj") << microjoules;
  };
  EXPECT_FALSE(machine_use(folder.path()).joules);
  set("intel-rapl", "");
  set("intel-rapl:0", "5000000");
  set("intel-rapl:0:0", "4000000");  // a part of it
  set("intel-rapl:1", "1000000");
  const MachineUse before = machine_use(folder.path());
  EXPECT_DOUBLE_EQ(before.joules.value(), 6);
  set("intel-rapl:1", "3500000");
  EXPECT_DOUBLE_EQ(machine_use(folder.path()).since(before).joules.value(), 2.5);
  set("intel-rapl:0", "0");
  EXPECT_FALSE(machine_use(folder.path()).since(before).joules) << "it has begun anew";
  set("intel-rapl:0", "");
  EXPECT_FALSE(machine_use(folder.path()).joules) << "it cannot be read";
}

}  // namespace
}  // namespace predgen
