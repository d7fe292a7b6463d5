#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/types.hpp"

// Eviction policies one can see are right: standard lists, searched from end to
// end, written from the publications and not from policies/eviction/.
namespace mcsim::naive {

class Policy {
 public:
  explicit Policy(Count capacity) : capacity_(capacity) {}
  virtual ~Policy() = default;

  // True if it hits. A block that comes in while there is no space at all does not.
  bool access(std::uint64_t block, std::uint64_t next_use) {
    victims.clear();
    return capacity_ > 0 && on_access(block, next_use);
  }
  virtual bool contains(std::uint64_t block) const = 0;
  virtual void remove(std::uint64_t block) = 0;
  void resize(Count capacity) {
    victims.clear();
    capacity_ = capacity;
    on_resize();
  }

  std::vector<std::uint64_t> victims;  // of the last call, in order

 protected:
  using List = std::list<std::uint64_t>;

  virtual bool on_access(std::uint64_t block, std::uint64_t next_use) = 0;
  virtual void on_resize() = 0;

  static bool has(const List& list, std::uint64_t block) {
    return std::find(list.begin(), list.end(), block) != list.end();
  }
  static Count size(const List& list) { return static_cast<Count>(list.size()); }

  Count capacity_;
};

// Policies that keep one list of what is resident, in some order.
class OneList : public Policy {
 public:
  using Policy::Policy;
  bool contains(std::uint64_t block) const override { return has(list_, block); }
  void remove(std::uint64_t block) override { list_.remove(block); }

 protected:
  virtual void evict() = 0;
  void on_resize() override {
    while (size(list_) > capacity_) evict();
  }
  void victim(List::iterator at) {
    victims.push_back(*at);
    list_.erase(at);
  }
  List list_;  // newest first
};

class Lru : public OneList {
 public:
  using OneList::OneList;

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    const bool hit = has(list_, block);
    list_.remove(block);
    if (size(list_) == capacity_) evict();
    list_.push_front(block);
    return hit;
  }
  void evict() override { victim(std::prev(list_.end())); }
};

class Fifo : public OneList {
 public:
  using OneList::OneList;

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    if (has(list_, block)) return true;
    if (size(list_) == capacity_) evict();
    list_.push_front(block);
    return false;
  }
  void evict() override { victim(std::prev(list_.end())); }
};

class Clock : public OneList {
 public:
  using OneList::OneList;
  void remove(std::uint64_t block) override {
    list_.remove(block);
    marked_.erase(block);
  }

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    if (has(list_, block)) {
      marked_.insert(block);
      return true;
    }
    if (size(list_) == capacity_) evict();
    list_.push_front(block);
    return false;
  }
  // The oldest, unless marked: then it becomes the newest, unmarked.
  void evict() override {
    while (marked_.erase(list_.back()) == 1) {
      list_.push_front(list_.back());
      list_.pop_back();
    }
    victim(std::prev(list_.end()));
  }
  std::set<std::uint64_t> marked_;
};

// As published: a pointer into the queue that moves from tail to head.
class Sieve : public OneList {
 public:
  using OneList::OneList;
  void remove(std::uint64_t block) override {
    const auto at = std::find(list_.begin(), list_.end(), block);
    step_over(at);
    list_.erase(at);
    visited_.erase(block);
  }

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    if (has(list_, block)) {
      visited_.insert(block);
      return true;
    }
    if (size(list_) == capacity_) evict();
    list_.push_front(block);
    return false;
  }
  void evict() override {
    List::iterator at = hand_ == list_.end() ? std::prev(list_.end()) : hand_;
    while (visited_.erase(*at) == 1) {
      at = at == list_.begin() ? std::prev(list_.end()) : std::prev(at);
    }
    hand_ = at;
    step_over(at);
    victim(at);
  }
  // Where the hand is when the block it points to goes.
  void step_over(List::iterator at) {
    if (hand_ == at) hand_ = at == list_.begin() ? list_.end() : std::prev(at);
  }
  std::set<std::uint64_t> visited_;
  List::iterator hand_ = list_.end();  // the end: to begin at the tail
};

// The twin of a policy of the one list; null if it was given none.
inline std::unique_ptr<Policy> twin(std::string_view name, [[maybe_unused]] const ParamMap& params,
                                    Count capacity) {
  if (name == "lru") return std::make_unique<Lru>(capacity);
  if (name == "fifo") return std::make_unique<Fifo>(capacity);
  if (name == "clock") return std::make_unique<Clock>(capacity);
  if (name == "sieve") return std::make_unique<Sieve>(capacity);
  return nullptr;
}

}  // namespace mcsim::naive
