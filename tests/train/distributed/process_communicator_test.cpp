#include "train/distributed/process_communicator.h"

#include <ATen/Context.h>
#include <gmock/gmock.h>

#include <future>

#include "core/error.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/run_ranks.h"

namespace predgen {
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
  const ConnectOptions options{.start_timeout = std::chrono::seconds(1)};
  EXPECT_THAT([&] { ProcessCommunicator(place, options); },
              testing::ThrowsMessage<Error>(
                  HasSubstr("of 4 ranks these did not connect within 1 s: 0 2 3")));
}

TEST(ProcessCommunicator, AStoreThatIsNotThere) {
  const RankPlace place{.rank = 1, .world_size = 2, .address = "127.0.0.1", .port = 1};
  const ConnectOptions options{.start_timeout = std::chrono::seconds(1)};
  EXPECT_THAT([&] { ProcessCommunicator(place, options); },
              testing::ThrowsMessage<Error>(
                  HasSubstr("rank 1 cannot reach the store of the ranks at 127.0.0.1:1")));
}

TEST(ProcessCommunicator, RefusesABackendThatIsNotThere) {
  const RankPlace place{.rank = 1, .world_size = 2, .address = "127.0.0.1", .port = 1};
  expect_user_error([&] { ProcessCommunicator(place, {.backend = "mpi"}); },
                    {"backend \"mpi\": must be auto, nccl or gloo"});
  if (at::globalContext().hasCUDA()) return;
  expect_user_error([&] { ProcessCommunicator(place, {.backend = "nccl"}); },
                    {"backend \"nccl\"", "use gloo"});
}

}  // namespace
}  // namespace predgen
