#include "train/distributed/rank_place.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/fakes/expect_user_error.h"

namespace predgen::train {
namespace {

using Environment = std::map<std::string, std::string>;

RankPlace place_in(const Environment& environment) {
  return rank_place([&](const char* name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(RankPlace, NobodyStartedItAsARank) {
  for (const Environment& environment :
       {Environment{}, Environment{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}},
        Environment{{"MASTER_ADDR", "there"}}, Environment{{"RANK", ""}, {"WORLD_SIZE", ""}},
        Environment{{"RANK", "0"}, {"WORLD_SIZE", "1"}}}) {
    EXPECT_EQ(place_in(environment).world_size, 1);
  }
}

TEST(RankPlace, ReadsWhatTorchrunSets) {
  Environment environment{{"RANK", "5"},
                          {"WORLD_SIZE", "8"},
                          {"LOCAL_RANK", "1"},
                          {"LOCAL_WORLD_SIZE", "4"},
                          {"MASTER_ADDR", "node1"},
                          {"MASTER_PORT", "1234"}};
  RankPlace place = place_in(environment);
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.world_size, 8);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.address, "node1");
  EXPECT_EQ(place.port, 1234);
  EXPECT_FALSE(place.serves_store);
  environment["RANK"] = "0";
  EXPECT_TRUE(place_in(environment).serves_store);
  environment["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  environment["TORCHELASTIC_RESTART_COUNT"] = "2";
  EXPECT_FALSE(place_in(environment).serves_store);
  EXPECT_EQ(place_in(environment).attempt, "2");
  // torchrun within srun: one task for each machine, with ranks of its own.
  environment["SLURM_PROCID"] = "1";
  environment["SLURM_STEP_NUM_TASKS"] = "2";
  EXPECT_EQ(place_in(environment).world_size, 8);
}

TEST(RankPlace, ReadsWhatSrunSets) {
  Environment environment{{"SLURM_PROCID", "3"},
                          {"SLURM_STEP_NUM_TASKS", "4"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_JOB_ID", "41234"},
                          {"SLURM_STEP_NODELIST", "gpu[007-009,12],login"}};
  EXPECT_EQ(place_in(environment).rank, 3);
  EXPECT_EQ(place_in(environment).local_rank, 1);
  EXPECT_EQ(place_in(environment).address, "gpu007");
  EXPECT_EQ(place_in(environment).attempt, "41234.0");
  environment["SLURM_STEP_ID"] = "2";
  EXPECT_EQ(place_in(environment).attempt, "41234.2");
  for (const auto& [nodes, first] :
       Environment{{"one", "one"}, {"one,two", "one"}, {"a1,b[1-2]", "a1"}, {"n[3]", "n3"}}) {
    environment["SLURM_STEP_NODELIST"] = nodes;
    EXPECT_EQ(place_in(environment).address, first) << nodes;
  }
  environment["MASTER_ADDR"] = "other";
  environment["MASTER_PORT"] = "99";
  EXPECT_EQ(place_in(environment).address, "other");
  EXPECT_EQ(place_in(environment).port, 99);
}

TEST(RankPlace, ReadsWhatMpirunSets) {
  Environment environment{{"OMPI_COMM_WORLD_RANK", "1"},
                          {"OMPI_COMM_WORLD_SIZE", "2"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_EQ(place_in(environment).rank, 1);
  EXPECT_EQ(place_in(environment).address, "127.0.0.1");
  environment["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  expect_user_error([&] { place_in(environment); }, {"several machines", "set MASTER_ADDR"});
}

TEST(RankPlace, JobsOnOneMachineMeetAtDifferentPorts) {
  const auto port = [](Environment environment, const std::string& name, const char* job) {
    environment[name] = job;
    return place_in(environment).port;
  };
  const Environment by_hand{{"RANK", "1"}, {"WORLD_SIZE", "2"}};
  const Environment srun{{"SLURM_PROCID", "1"},
                         {"SLURM_STEP_NUM_TASKS", "2"},
                         {"SLURM_LOCALID", "1"},
                         {"SLURM_STEP_NODELIST", "one"},
                         {"SLURM_JOB_ID", "17"}};
  const Environment mpirun{{"OMPI_COMM_WORLD_RANK", "1"},
                           {"OMPI_COMM_WORLD_SIZE", "2"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
  EXPECT_EQ(place_in(by_hand).port, 29500);
  EXPECT_EQ(place_in(mpirun).port, 29500);
  for (const auto& [environment, name] :
       {std::pair(by_hand, "SLURM_JOB_ID"), std::pair(srun, "SLURM_JOB_ID"),
        std::pair(srun, "SLURM_STEP_ID"), std::pair(mpirun, "PMIX_NAMESPACE"),
        std::pair(mpirun, "OMPI_MCA_ess_base_jobid"), std::pair(mpirun, "SLURM_JOB_ID")}) {
    EXPECT_NE(port(environment, name, "41234"), port(environment, name, "41235")) << name;
    EXPECT_EQ(port(environment, name, "41234"), port(environment, name, "41234")) << name;
    EXPECT_GE(port(environment, name, "41234"), 20000) << name;
    EXPECT_LT(port(environment, name, "41234"), 32000) << name;
  }
  // Two commands of one SLURM job are two jobs of mpirun.
  Environment both = mpirun;
  both["SLURM_JOB_ID"] = "17";
  EXPECT_NE(port(both, "PMIX_NAMESPACE", "node-1@1"), port(both, "PMIX_NAMESPACE", "node-2@1"));
  EXPECT_NE(place_in(both).attempt, "0");
}

TEST(RankPlace, ARankWithoutALocalRankTakesItsLaunchersNumber) {
  Environment environment{{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "node1"}};
  const std::vector<std::string> missing{"no LOCAL_RANK"};
  expect_user_error([&] { place_in(environment); }, missing);
  environment["SLURM_LOCALID"] = "1";  // of a job's script, which is no rank
  environment["SLURM_PROCID"] = "0";
  expect_user_error([&] { place_in(environment); }, missing);
  environment["SLURM_PROCID"] = "5";
  environment["SLURM_STEP_NUM_TASKS"] = "8";
  EXPECT_EQ(place_in(environment).local_rank, 1);
  environment["LOCAL_RANK"] = "2";
  EXPECT_EQ(place_in(environment).local_rank, 2);
  environment = {{"RANK", "5"},
                 {"WORLD_SIZE", "8"},
                 {"MASTER_ADDR", "node1"},
                 {"OMPI_COMM_WORLD_RANK", "5"},
                 {"OMPI_COMM_WORLD_SIZE", "8"},
                 {"OMPI_COMM_WORLD_LOCAL_RANK", "3"}};
  EXPECT_EQ(place_in(environment).local_rank, 3);
  // On one machine it is the rank.
  EXPECT_EQ(place_in({{"RANK", "5"}, {"WORLD_SIZE", "8"}}).local_rank, 5);
  EXPECT_EQ(place_in({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "localhost"}}).local_rank,
            5);
}

TEST(RankPlace, NamesOfThisMachineAreOne) {
  for (const char* name : {"localhost", "127.0.0.1", "127.0.1.1", "::1"}) {
    EXPECT_EQ(place_in({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", name}}).address,
              kThisMachine);
  }
}

TEST(RankPlace, RefusesWhatContradictsItself) {
  const auto refuses = [](const Environment& environment, const std::vector<std::string>& parts) {
    expect_user_error([&] { place_in(environment); }, parts);
  };
  refuses({{"RANK", "1"}}, {"torchrun", "no WORLD_SIZE"});
  refuses({{"WORLD_SIZE", "2"}}, {"torchrun", "no RANK"});
  refuses({{"RANK", "2"}, {"WORLD_SIZE", "2"}}, {"RANK is \"2\"", "from 0 to 1"});
  refuses({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}, {"RANK is \"-1\""});
  refuses({{"RANK", "0x1"}, {"WORLD_SIZE", "2"}}, {"RANK is \"0x1\""});
  refuses({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}}, {"LOCAL_RANK is \"2\""});
  refuses({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "70000"}}, {"MASTER_PORT"});
  refuses({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", "2"}}, {"set MASTER_ADDR"});
  refuses({{"SLURM_STEP_NUM_TASKS", "2"}}, {"srun", "no SLURM_PROCID"});
  refuses({{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}}, {"srun", "no SLURM_LOCALID"});
  refuses({{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}},
          {"mpirun", "no OMPI_COMM_WORLD_LOCAL_RANK"});
}

}  // namespace
}  // namespace predgen::train
