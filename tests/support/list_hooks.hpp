#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/caches/hooked_cache.hpp"
#include "core/engine/caches/priority_cache.hpp"

// Policies as hooks and as functions.
namespace mcsim::testing {

// Lists of slots, the next to leave in front. Also: what it is told is what happens.
class ListHooks final : public PolicyHooks {
 public:
  ListHooks(bool recency, std::size_t ahead) : recency_(recency), ahead_(ahead) {}

  const std::string& name() const override { return name_; }
  absl::StatusOr<std::size_t> start(const PolicySetup& setup) override {
    block_of_.assign(static_cast<std::size_t>(setup.capacity), -1);
    return ahead_;
  }
  absl::Status accessed(std::span<const std::int64_t> slots, std::span<const std::int64_t> blocks,
                        std::span<const std::uint8_t> hits) override {
    EXPECT_EQ(slots.size(), blocks.size());
    EXPECT_EQ(slots.size(), hits.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      auto& block = block_of_.at(static_cast<std::size_t>(slots[i]));
      EXPECT_EQ(hits[i] != 0, block == blocks[i]);
      block = blocks[i];
      const auto at = std::ranges::find(order_, slots[i]);
      EXPECT_EQ(hits[i] != 0, at != order_.end());
      if (recency_ && hits[i] != 0) order_.erase(at);
      if (recency_ || hits[i] == 0) order_.push_back(slots[i]);
    }
    return absl::OkStatus();
  }
  absl::Status choose(std::size_t count, std::vector<std::int64_t>& victims) override {
    for (std::size_t i = 0; i < count && !order_.empty(); ++i) {
      victims.push_back(order_.front());
      block_of_.at(static_cast<std::size_t>(order_.front())) = -1;
      order_.pop_front();
    }
    return absl::OkStatus();
  }

  absl::Status removed(std::span<const std::int64_t> slots) override {
    for (const std::int64_t slot : slots) {
      block_of_.at(static_cast<std::size_t>(slot)) = -1;
      const auto at = std::ranges::find(order_, slot);
      EXPECT_NE(at, order_.end()) << "slot " << slot << " was not in use, or was given up";
      if (at != order_.end()) order_.erase(at);
    }
    return absl::OkStatus();
  }
  absl::Status resized(Count capacity) override {
    EXPECT_LE(capacity, static_cast<Count>(block_of_.size()));
    return absl::OkStatus();
  }

 private:
  std::string name_ = "List";
  bool recency_;
  std::size_t ahead_;
  std::vector<std::int64_t> block_of_;
  std::list<std::int64_t> order_;
};

using Formula = std::function<double(std::int64_t accesses, std::int64_t last,
                                     std::int64_t inserted, std::int64_t now)>;

class FormulaFunction final : public PriorityFunction {
 public:
  FormulaFunction(Formula formula, Terms terms, int* calls = nullptr)
      : formula_(std::move(formula)), terms_(terms), calls_(calls) {}
  const std::string& name() const override { return name_; }
  absl::StatusOr<Terms> start(const PolicySetup&) override { return terms_; }
  absl::Status evaluate(const Blocks& blocks, std::span<double> priorities) override {
    if (calls_ != nullptr) ++*calls_;
    for (std::size_t i = 0; i < priorities.size(); ++i) {
      priorities[i] =
          formula_(blocks.accesses[i], blocks.last[i], blocks.inserted[i], blocks.now[i]);
    }
    return absl::OkStatus();
  }

 private:
  std::string name_ = "Formula.priority";
  Formula formula_;
  Terms terms_;
  int* calls_;
};

}  // namespace mcsim::testing
