#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/random.hpp"
#include "tests/support/naive_policies.hpp"

// The twin of LHD, written from the program of its authors, lhd.cpp in libCacheSim.
namespace mcsim::naive {

class Lhd : public Policy {
 public:
  Lhd(Count capacity, const ParamMap& params)
      : Policy(capacity),
        samples_(param(params, "samples", std::int64_t{32})),
        admissions_(static_cast<std::size_t>(param(params, "admissions", std::int64_t{8}))),
        max_age_(static_cast<std::size_t>(param(params, "ages", std::int64_t{20'000}))),
        period_(param(params, "period", std::int64_t{0})),
        known_capacity_(capacity),
        budget_(capacity / 100),
        random_(Random(1).split("lhd")) {
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      classes_[c].hits.resize(max_age_);
      classes_[c].evictions.resize(max_age_);
      for (std::size_t a = 0; a < max_age_; ++a) {
        classes_[c].density.push_back(static_cast<float>(16 + c + 1) / static_cast<float>(a + 1));
      }
    }
  }
  bool contains(std::uint64_t block) const override { return find(block) != tags_.end(); }
  void remove(std::uint64_t block) override {
    const auto at = tags_.begin() + (find(block) - tags_.cbegin());
    if (at->explorer) ++budget_;
    std::ranges::replace(recent_, block, kNone);
    *at = tags_.back();
    tags_.pop_back();
  }

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    const bool hit = contains(block);
    if (!hit && static_cast<Count>(tags_.size()) == capacity_) evict();
    if (!hit) tags_.push_back({.id = block, .last_last_age = max_age_});
    Tag& tag = tags_[static_cast<std::size_t>(find(block) - tags_.cbegin())];
    if (hit) {
      const std::size_t age = age_of(tag);
      classes_[class_of(tag)].hits[age] += 1;
      if (tag.explorer) ++budget_;
      tag.last_last_age = tag.last_age;
      tag.last_age = age;
    }
    tag.time = time_;
    const bool explore = random_() % 32 == 0;
    tag.explorer = explore && budget_ > 0 && reconfigured_ < 50;
    if (tag.explorer) --budget_;
    if (!hit && !explore && density_of(tag) < victims_density_) admit(block);
    if (++time_ % static_cast<std::uint64_t>(period()) == 0) reconfigure();
    return hit;
  }
  void on_resize() override {
    budget_ += capacity_ / 100 - known_capacity_ / 100;
    known_capacity_ = capacity_;
    while (static_cast<Count>(tags_.size()) > capacity_) evict();
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  struct Tag {
    std::uint64_t id = kNone;
    std::uint64_t time = 0;
    std::size_t last_age = 0, last_last_age = 0;
    bool explorer = false;
  };
  struct Class {
    std::vector<float> hits, evictions, density;
  };

  std::vector<Tag>::const_iterator find(std::uint64_t block) const {
    return std::find_if(tags_.begin(), tags_.end(),
                        [&](const Tag& tag) { return tag.id == block; });
  }
  // Four accesses per block; that of the program, 2^20, is the longest.
  Count period() const {
    if (period_ != 0) return period_;
    Count accesses = 4 * capacity_;
    if (accesses < 2 * static_cast<Count>(max_age_)) accesses = 2 * static_cast<Count>(max_age_);
    return accesses > 1'048'576 ? 1'048'576 : accesses;
  }
  std::size_t age_of(const Tag& tag) const {
    return std::min<std::size_t>(max_age_ - 1, (time_ - tag.time) >> shift_);
  }
  std::size_t class_of(const Tag& tag) const {
    std::size_t age = tag.last_age + tag.last_last_age, log = 0;
    if (age == 0) return 15;
    for (; age < max_age_ && log < 15; age <<= 1) ++log;
    return log;
  }
  float density_of(const Tag& tag) const {
    const std::size_t age = age_of(tag);
    if (age == max_age_ - 1) return std::numeric_limits<float>::lowest();
    const float density = classes_[class_of(tag)].density[age];
    return tag.explorer ? density + 1 : density;
  }
  void admit(std::uint64_t block) {
    recent_.resize(admissions_, kNone);
    if (admissions_ > 0) recent_[admitted_++ % admissions_] = block;
  }
  void evict() {
    std::vector<Tag> offered;
    for (Count i = 0; i < (reconfigured_ > 50 ? samples_ : 8); ++i) {
      offered.push_back(tags_[random_.below(tags_.size())]);
    }
    for (const std::uint64_t block : recent_) {
      if (contains(block)) offered.push_back(*find(block));
    }
    const Tag victim = *std::min_element(
        offered.begin(), offered.end(),
        [&](const Tag& a, const Tag& b) { return density_of(a) < density_of(b); });
    victims_density_ = 0.9F * victims_density_ + (1 - 0.9F) * density_of(victim);
    classes_[class_of(victim)].evictions[age_of(victim)] += 1;
    victims.push_back(victim.id);
    remove(victim.id);
  }

  void reconfigure() {
    for (Class& each : classes_) {
      for (float& count : each.hits) count *= 0.9F;
      for (float& count : each.evictions) count *= 0.9F;
    }
    objects_ = objects_ * 0.9F + static_cast<float>(tags_.size());
    mass_ = mass_ * 0.9F + 1;
    if (reconfigured_ == 5 || reconfigured_ == 25) {
      const float wanted = objects_ / mass_ / (0.01F * static_cast<float>(max_age_));
      int shift = 1;
      while (std::ldexp(1.0F, shift) < wanted) ++shift;
      for (Class& each : classes_) {
        each.hits = rescaled(each.hits, shift - static_cast<int>(shift_));
        each.evictions = rescaled(each.evictions, shift - static_cast<int>(shift_));
      }
      shift_ = static_cast<std::size_t>(shift);
      objects_ *= 8;
      mass_ *= 8;
    }
    ++reconfigured_;
    for (Class& each : classes_) model(each);
  }
  // Counts by ages that are 2^`by` times as long; the last one has all that is older.
  std::vector<float> rescaled(const std::vector<float>& old, int by) const {
    std::vector<float> counts(max_age_);
    counts.back() = old.back();
    if (by == 0) return old;
    if (by < 0) {
      for (std::size_t a = max_age_ >> -by; a + 1 < max_age_; ++a) counts.back() += old[a];
      for (std::size_t a = 0; a + 1 < max_age_; ++a) {
        counts[a] = old[a >> -by] / std::ldexp(1.0F, -by);
      }
      return counts;
    }
    for (std::size_t a = 0; a >> by < max_age_ >> by; ++a) counts[a >> by] += old[a];
    return counts;
  }
  void model(Class& each) const {
    float events = each.hits.back() + each.evictions.back(), hits = each.hits.back();
    float lifetime = events;
    for (std::size_t a = max_age_ - 1; a-- > 0;) {
      hits += each.hits[a];
      events += each.hits[a] + each.evictions[a];
      lifetime += events;
      each.density[a] = events > 1e-5F ? hits / lifetime : 0;
    }
  }

  Count samples_;
  std::size_t admissions_, max_age_;
  Count period_, known_capacity_, budget_;
  Random random_;
  std::vector<Tag> tags_;
  std::array<Class, 16> classes_;
  std::vector<std::uint64_t> recent_;
  std::size_t admitted_ = 0, shift_ = 10;
  std::uint64_t time_ = 0;
  int reconfigured_ = 0;
  float victims_density_ = 0, objects_ = 0, mass_ = 0;
};

}  // namespace mcsim::naive
