#include "train/distributed/communicator.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "tests/fakes/run_ranks.h"

namespace predgen::train {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

at::Tensor numbers(std::vector<float> values) { return at::tensor(values); }

bool equal(const at::Tensor& tensor, std::vector<float> values) {
  return tensor.equal(at::tensor(values));
}

enum class Kind { kSingle, kThreads, kProcesses };

/// The same rules for every kind and number of ranks.
class EveryWorld : public testing::TestWithParam<std::pair<Kind, int>> {
 protected:
  static int world_size() { return GetParam().second; }
  void run(const std::function<void(Communicator&)>& work) const {
    if (GetParam().first == Kind::kThreads) {
      EXPECT_THAT(run_ranks(world_size(), work), Each(IsEmpty()));
    } else if (GetParam().first == Kind::kProcesses) {
      EXPECT_THAT(run_connected_ranks(world_size(), work), Each(IsEmpty()));
    } else {
      SingleProcessCommunicator communicator;
      work(communicator);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, EveryWorld,
                         testing::Values(std::pair(Kind::kSingle, 1), std::pair(Kind::kThreads, 1),
                                         std::pair(Kind::kThreads, 2), std::pair(Kind::kThreads, 3),
                                         std::pair(Kind::kProcesses, 2),
                                         std::pair(Kind::kProcesses, 3)));

TEST_P(EveryWorld, HasOneMainRank) {
  std::atomic<int> num_main = 0, sum = 0;
  run([&](Communicator& communicator) {
    EXPECT_EQ(communicator.world_size(), world_size());
    num_main += communicator.is_main();
    sum += communicator.rank();
  });
  EXPECT_EQ(num_main, 1);
  EXPECT_EQ(sum, world_size() * (world_size() - 1) / 2);
}

TEST_P(EveryWorld, BroadcastGivesTheRootsTensors) {
  run([](Communicator& communicator) {
    const int last = communicator.world_size() - 1;
    for (const int root : {0, last}) {
      const auto rank = static_cast<float>(communicator.rank());
      const at::Tensor a = numbers({rank, 1}), b = at::tensor({communicator.rank()}, at::kLong);
      communicator.broadcast({a, b}, root);
      EXPECT_TRUE(equal(a, {static_cast<float>(root), 1}));
      EXPECT_EQ(b.item<int64_t>(), root);
    }
  });
}

TEST_P(EveryWorld, AllReduceSums) {
  run([](Communicator& communicator) {
    const auto n = static_cast<float>(communicator.world_size());
    const auto rank = static_cast<float>(communicator.rank());
    const at::Tensor a = numbers({1, rank}), b = numbers({10});
    communicator.all_reduce({a, b});
    EXPECT_TRUE(equal(a, {n, n * (n - 1) / 2}));
    EXPECT_TRUE(equal(b, {10 * n}));
    communicator.all_reduce({});
  });
}

TEST_P(EveryWorld, AllReduceLeavesGradientsOutAndTakesWeights) {
  run([](Communicator& communicator) {
    const at::Tensor weight = at::ones({2}).requires_grad_(true);
    communicator.all_reduce({weight});
    EXPECT_TRUE(weight.is_leaf());
    communicator.broadcast({weight}, 0);
    EXPECT_TRUE(weight.is_leaf());
  });
}

TEST_P(EveryWorld, AllGatherPutsPartsInTheOrderOfRanks) {
  run([](Communicator& communicator) {
    const auto rank = static_cast<float>(communicator.rank());
    const int n = communicator.world_size();
    const at::Tensor part = at::full({2, 3}, rank), whole = at::full({2 * n, 3}, -1.0);
    communicator.all_gather(part, whole);
    for (int i = 0; i < 2 * n; ++i) EXPECT_TRUE((whole[i] == i / 2).all().item<bool>()) << i;
    EXPECT_TRUE((part == rank).all().item<bool>());
  });
}

TEST_P(EveryWorld, NobodyPassesABarrierBeforeAllHaveCome) {
  std::atomic<int> num_come = 0;
  run([&](Communicator& communicator) {
    for (int round = 1; round <= 50; ++round) {
      ++num_come;
      communicator.barrier();
      EXPECT_GE(num_come, round * communicator.world_size());
    }
  });
}

TEST(ThreadCommunicator, SumsAreTakenInTheOrderOfRanks) {
  // (1e8 + 1) - 1e8 is 0 in float32, (1e8 - 1e8) + 1 is 1: the order can be seen.
  for (int round = 0; round < 20; ++round) {
    run_ranks(3, [](Communicator& communicator) {
      const float values[] = {1e8f, -1e8f, 1.0f};
      const at::Tensor tensor = numbers({values[communicator.rank()]});
      communicator.all_reduce({tensor});
      EXPECT_EQ(tensor.item<float>(), 1.0f);
    });
  }
}

TEST(ThreadCommunicator, ARankThatFailsReleasesTheOthersWithItsName) {
  const std::vector<std::string> errors = run_ranks(3, [](Communicator& communicator) {
    communicator.barrier();
    if (communicator.rank() == 1) throw Error("the disk is full");
    communicator.all_reduce({at::ones({4})});
  });
  EXPECT_EQ(errors[1], "the disk is full");
  for (const size_t rank : {0, 2}) {
    EXPECT_THAT(errors[rank], HasSubstr("rank 1 has ended or failed"));
    EXPECT_THAT(errors[rank], HasSubstr("all_reduce Float[4]"));
  }
}

TEST(ThreadCommunicator, ARankThatHasEndedIsNotWaitedFor) {
  alarm(60);  // ends a test that hangs
  std::vector<std::unique_ptr<Communicator>> ranks = make_thread_communicators(2);
  ranks[1].reset();
  for (int i = 0; i < 2; ++i) {  // and it stays so
    EXPECT_THAT([&] { ranks[0]->barrier(); },
                testing::ThrowsMessage<Error>(
                    HasSubstr("rank 1 has ended or failed while rank 0 waits for it in barrier")));
  }
  alarm(0);
}

TEST(ThreadCommunicator, RanksThatDisagreeSayInWhat) {
  const auto expect = [](const std::function<void(Communicator&)>& work, const char* text) {
    EXPECT_THAT(run_ranks(2, work), Each(HasSubstr(text)));
  };
  expect(
      [](Communicator& communicator) {
        if (communicator.is_main()) return communicator.barrier();
        communicator.all_reduce({at::ones({2, 3})});
      },
      "rank 0 is in barrier, but rank 1 in all_reduce Float[2, 3]");
  expect(
      [](Communicator& communicator) {
        communicator.all_reduce({at::ones({1 + communicator.rank()})});
      },
      "rank 0 is in all_reduce Float[1], but rank 1 in all_reduce Float[2]");
  expect(
      [](Communicator& communicator) {
        communicator.broadcast({at::ones({1})}, communicator.rank());
      },
      "rank 0 is in broadcast from rank 0 Float[1], but rank 1 in broadcast from rank 1 Float[1]");
}

TEST(ThreadCommunicator, RefusesAWholeThatIsNotAllParts) {
  const std::vector<std::string> errors = run_ranks(
      2, [](Communicator& communicator) { communicator.all_gather(at::ones({2}), at::ones({3})); });
  EXPECT_THAT(errors, Each(HasSubstr("the whole is [3], 2 ranks' parts are [2]")));
}

}  // namespace
}  // namespace predgen::train
