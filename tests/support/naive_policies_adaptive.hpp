#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>

#include "tests/support/naive_policies.hpp"

// Twins of the policies that learn from their ghosts.
namespace mcsim::naive {

// The pseudo-code of the paper's figure 2; heads of clocks are at the front.
class Car : public Policy {
 public:
  using Policy::Policy;
  bool contains(std::uint64_t block) const override { return has(t1_, block) || has(t2_, block); }
  void remove(std::uint64_t block) override {
    t1_.remove(block);
    t2_.remove(block);
    bits_.erase(block);
  }

 protected:
  bool on_access(std::uint64_t x, std::uint64_t) override {
    if (contains(x)) {
      bits_.insert(x);
      return true;
    }
    if (size(t1_) + size(t2_) == capacity_) replace();
    const auto b1 = static_cast<double>(size(b1_));
    const auto b2 = static_cast<double>(size(b2_));
    if (has(b1_, x)) {
      p_ = std::min(p_ + std::max(1.0, b2 / b1), static_cast<double>(capacity_));
      b1_.remove(x);
      t2_.push_back(x);
    } else if (has(b2_, x)) {
      p_ = std::max(p_ - std::max(1.0, b1 / b2), 0.0);
      b2_.remove(x);
      t2_.push_back(x);
    } else {
      if (size(t1_) + size(b1_) == capacity_) {
        b1_.pop_front();
      } else if (size(t1_) + size(t2_) + size(b1_) + size(b2_) == 2 * capacity_) {
        b2_.pop_front();
      }
      t1_.push_back(x);
    }
    return false;
  }

  void on_resize() override {
    p_ = std::min(p_, static_cast<double>(capacity_));
    while (size(t1_) + size(t2_) > capacity_) replace();
    while (size(t1_) + size(b1_) > capacity_) b1_.pop_front();
    while (size(t1_) + size(t2_) + size(b1_) + size(b2_) > 2 * capacity_) b2_.pop_front();
  }

 private:
  void replace() {
    for (bool found = false; !found;) {
      const bool first = static_cast<double>(size(t1_)) >= std::max(1.0, p_);
      List& clock = first ? t1_ : t2_;
      const std::uint64_t head = clock.front();
      clock.pop_front();
      if (bits_.erase(head) == 0) {
        found = true;
        (first ? b1_ : b2_).push_back(head);
        victims.push_back(head);
      } else {
        t2_.push_back(head);
      }
    }
  }

  List t1_, t2_, b1_, b2_;
  std::set<std::uint64_t> bits_;
  double p_ = 0;
};

inline std::unique_ptr<Policy> adaptive_twin(std::string_view name,
                                             [[maybe_unused]] const ParamMap& params,
                                             Count capacity) {
  if (name == "car") return std::make_unique<Car>(capacity);
  return nullptr;
}

}  // namespace mcsim::naive
