#include "train/distributed/process_communicator.h"

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <future>
#include <sstream>

#include "core/error.h"
#include "model/gpu/cuda_module.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/run_ranks.h"

namespace predgen::train {
namespace {

using testing::HasSubstr;

TEST(ProcessCommunicator, TheOthersSayWhichRankFailedFirstAndWhy) {
  const std::vector<std::string> errors = run_connected_ranks(3, [](Communicator& communicator) {
    communicator.set_step(7);
    communicator.barrier();
    if (communicator.rank() == 1) {
      dynamic_cast<ProcessCommunicator&>(communicator)
          .report_failure("the disk is full\nwith a backtrace");
      throw Error("the disk is full");
    }
    communicator.all_reduce({at::ones({4})});
  });
  EXPECT_EQ(errors[1], "the disk is full");
  EXPECT_EQ(errors[0], "rank 1 failed in step 7: the disk is full");
  EXPECT_EQ(errors[2], errors[0]);
}

TEST(ProcessCommunicator, AFailureEndsAWaitAtOnce) {
  // The one that fails keeps its connections, as a rank does that waits for its GPU.
  std::promise<void> told;
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<std::string> errors = run_connected_ranks(2, [&](Communicator& communicator) {
    communicator.barrier();
    if (communicator.rank() == 1) {
      dynamic_cast<ProcessCommunicator&>(communicator).report_failure("the disk is full");
      return told.get_future().wait();
    }
    try {
      communicator.all_reduce({at::ones({4})});
    } catch (const Error&) {
      told.set_value();
      throw;
    }
  });
  EXPECT_EQ(errors[0], "rank 1 failed in step 0: the disk is full");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));  // timeout: 60 s
}

TEST(ProcessCommunicator, ARankThatLeavesWithoutAWordIsNamed) {
  const std::vector<std::string> errors = run_connected_ranks(3, [](Communicator& communicator) {
    communicator.set_step(3);
    communicator.barrier();
    if (communicator.rank() == 2) return;
    communicator.all_reduce({at::ones({4})});
  });
  for (const size_t rank : {0, 1})
    EXPECT_EQ(errors[rank], "rank 2 has ended or hangs, last heard of in step 3");
}

TEST(ProcessCommunicator, ARankThatOthersWaitForTooLongIsNamed) {
  const ConnectOptions options{.start_timeout = std::chrono::seconds(60),
                               .timeout = std::chrono::seconds(1)};
  std::promise<void> told;
  const std::vector<std::string> errors = run_connected_ranks(
      2,
      [&](Communicator& communicator) {
        communicator.set_step(1);
        communicator.barrier();
        if (communicator.rank() == 1) return told.get_future().wait();  // it lives, but is busy
        communicator.set_step(2);
        try {
          communicator.barrier();
        } catch (const Error&) {
          told.set_value();
          throw;
        }
      },
      options);
  EXPECT_EQ(errors[0], "rank 1 is late: it is in step 1, rank 0 in step 2");
  EXPECT_EQ(errors[1], "");
}

TEST(ProcessCommunicator, RanksThatDoNotComeAreNamed) {
  const RankStore store;
  const RankPlace place{.rank = 1, .world_size = 4, .address = "127.0.0.1", .port = store.port()};
  // c10d asks for the name of the other end: a resolver that does not answer takes 5 s, twice.
  const ConnectOptions options{.start_timeout = std::chrono::seconds(12)};
  EXPECT_THAT([&] { ProcessCommunicator(place, options); },
              testing::ThrowsMessage<Error>(
                  HasSubstr("of 4 ranks these did not connect within 12 s: 0 2 3")));
}

TEST(ProcessCommunicator, AStoreThatIsNotThere) {
  const RankPlace place{.rank = 1, .world_size = 2, .address = "127.0.0.1", .port = 1};
  const ConnectOptions options{.start_timeout = std::chrono::seconds(1)};
  EXPECT_THAT([&] { ProcessCommunicator(place, options); },
              testing::ThrowsMessage<Error>(
                  HasSubstr("rank 1 cannot reach the store of the ranks at 127.0.0.1:1")));
}

/// Addresses at which somebody listens on this port, as the kernel writes them.
std::vector<std::string> listeners(uint16_t port) {
  std::vector<std::string> found;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state;
      words >> number >> local >> remote >> state;
      const size_t colon = local.find(':');
      if (state != "0A" || local.substr(colon + 1) != fmt::format("{:04X}", port)) continue;
      found.push_back(local.substr(0, colon));
    }
  }
  return found;
}

TEST(ProcessCommunicator, AStoreOfThisMachineIsNotReachedFromOthers) {
  const std::string loopback = "0100007F";
  const RankStore store;
  EXPECT_THAT(listeners(store.port()), testing::ElementsAre(loopback));
  uint16_t port = 0;
  {
    const RankStore free;
    port = free.port();
  }
  const RankPlace place{
      .rank = 0, .world_size = 2, .address = "127.0.0.1", .port = port, .serves_store = true};
  std::vector<MakeCommunicator> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.push_back([place, rank] {
      RankPlace own = place;
      own.rank = rank;
      own.serves_store = rank == 0;
      return std::make_unique<ProcessCommunicator>(own, ConnectOptions{});
    });
  }
  const std::vector<std::string> errors = run_ranks(ranks, [&](Communicator& communicator) {
    communicator.barrier();
    EXPECT_THAT(listeners(port), testing::ElementsAre(loopback));
    communicator.barrier();
  });
  EXPECT_THAT(errors, testing::Each(testing::IsEmpty()));
}

TEST(ProcessCommunicator, APortThatIsTaken) {
  const RankStore store;
  const RankPlace place{.rank = 0,
                        .world_size = 2,
                        .address = "127.0.0.1",
                        .port = store.port(),
                        .serves_store = true};
  EXPECT_THAT([&] { ProcessCommunicator(place, {}); },
              testing::ThrowsMessage<Error>(testing::AllOf(
                  HasSubstr("rank 0 cannot open the store of the ranks at 127.0.0.1:"),
                  HasSubstr("in use"))));
}

TEST(ProcessCommunicator, RefusesABackendThatIsNotThere) {
  const RankPlace place{.rank = 1, .world_size = 2, .address = "127.0.0.1", .port = 1};
  expect_user_error([&] { ProcessCommunicator(place, {.backend = "mpi"}); },
                    {"backend \"mpi\": must be auto, nccl or gloo"});
  if (has_cuda()) return;
  expect_user_error([&] { ProcessCommunicator(place, {.backend = "nccl"}); },
                    {"backend \"nccl\"", "use gloo"});
}

}  // namespace
}  // namespace predgen::train
