#include "core/locality/distances/piece_events.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {
namespace {

using Event = PieceEvent;

bool is_unresolved(Event kind) { return kind == Event::kAccess || kind == Event::kFillingAccess; }
bool has_block(Event kind) {
  return is_unresolved(kind) || kind == Event::kColdFirst || kind == Event::kColdFirstFilled;
}

// The replay of one piece on the stack of the piece before it.
class Replay {
 public:
  Replay(const PieceView& left, const PieceView& right, bool starts)
      : left_(left), right_(right), starts_(starts) {}

  absl::StatusOr<ReplayResult> run(bool ends) {
    MCSIM_RETURN_IF_ERROR(number_blocks());
    DenseDistances engine = engine_of_left();
    std::size_t keyed = 0;
    for (std::size_t i = 0; i < right_.first.size(); ++i) {
      const Event kind = right_.events.kinds.empty() ? Event::kAccess : right_.events.kinds[i];
      if (kind == Event::kDiscardBegin) {
        discard(engine, right_.first[i], right_.first[i + 1]);
        push(Event::kDiscardBegin, right_.first[i]);
        push(Event::kDiscardEnd, right_.first[++i]);
        continue;
      }
      const std::uint32_t block = has_block(kind) ? of_events_[keyed++] : 0;
      if (has_block(kind)) {
        if (touched_[block]) return data_loss("piece of a stream: a block twice");
        touched_[block] = true;
      }
      replay_access(engine, kind, right_.first[i], block);
    }
    if (!ends) add_stack(engine);
    result_.resolved.merge(engine.histogram());
    result_.resolved.cold = cold_;
    result_.resolved.merge(histogram_of_fillings());
    return std::move(result_);
  }

 private:
  // Numbers the blocks of `left` in its stack, then its others, then new ones of events.
  absl::Status number_blocks() {
    std::vector<bool> is_hole(left_.last.size());
    for (const std::uint64_t place : left_.events.holes) is_hole[place] = true;
    for (std::size_t i = 0; i < left_.last.size(); ++i) {
      if (!is_hole[i]) keys_.push_back(left_.last[i]);
    }
    in_stack_ = keys_.size();
    keys_.insert(keys_.end(), left_.events.gone.begin(), left_.events.gone.end());
    of_left_ = keys_.size();
    std::vector<std::uint32_t> numbers(of_left_);
    BlockTable table;
    table.number(keys_, numbers);
    if (table.size() != of_left_) return data_loss("piece of a stream: a block twice");
    std::vector<std::uint64_t> of_events;
    for (std::size_t i = 0; i < right_.first.size(); ++i) {
      const Event kind = right_.events.kinds.empty() ? Event::kAccess : right_.events.kinds[i];
      if (has_block(kind)) of_events.push_back(right_.first[i]);
    }
    of_events_.resize(of_events.size());
    table.number(of_events, of_events_);
    touched_.resize(table.size());
    dropped_.resize(in_stack_);
    next_unused_ = static_cast<std::uint32_t>(table.size());
    return number_holes(is_hole);
  }

  // Numbers the holes of `left` after all blocks, and prepares what ranges of keys need.
  absl::Status number_holes(const std::vector<bool>& is_hole) {
    std::uint32_t next = 0;
    std::uint32_t hole = next_unused_;
    for (const bool is_empty : is_hole) stack_.push_back(is_empty ? hole++ : next++);
    blocks_ = hole + right_.first.size();
    if (blocks_ > std::size_t{DistanceOptions::kMaxBlocks}) {
      return too_many_blocks(DistanceOptions::kMaxBlocks);
    }
    if (std::ranges::count(right_.events.kinds, Event::kDiscardBegin) > 0) {
      by_key_.resize(in_stack_);
      std::iota(by_key_.begin(), by_key_.end(), 0U);
      std::ranges::sort(by_key_, {}, [&](std::uint32_t block) { return keys_[block]; });
    }
    for (std::size_t i = 0; i < left_.events.kinds.size(); ++i) {
      if (left_.events.kinds[i] != Event::kDiscardBegin) continue;
      ranges_.add(left_.first[i], left_.first[i + 1]);
    }
    return absl::OkStatus();
  }

  DenseDistances engine_of_left() {
    DenseDistances engine(blocks_, stack_);
    for (const std::uint32_t block : stack_) {
      if (block >= next_unused_) engine.discard(block);
    }
    next_unused_ += static_cast<std::uint32_t>(left_.events.holes.size());
    return engine;
  }

  void discard(DenseDistances& engine, std::uint64_t begin, std::uint64_t end) {
    const auto first = std::ranges::lower_bound(by_key_, begin, {},
                                                [&](std::uint32_t block) { return keys_[block]; });
    for (auto at = first; at != by_key_.end() && (end == 0 || keys_[*at] < end); ++at) {
      if (touched_[*at]) continue;
      engine.discard(*at);
      dropped_[*at] = true;
    }
  }

  void replay_access(DenseDistances& engine, Event kind, std::uint64_t key, std::uint32_t block) {
    const bool fills = kind == Event::kFillingAccess || kind == Event::kColdFirstFilled;
    const bool is_filled = fills || engine.holes() > 0;
    const bool is_known = has_block(kind) && block < of_left_;
    Count distance = kCold;
    if (is_unresolved(kind) && is_known) {
      distance = fills ? engine.discard(block) : access(engine, block);
      if (fills && distance != kCold) count_filling(distance);
    } else if (!fills) {
      access(engine, next_unused_++);  // a cold access, whatever its block
    }
    if (is_unresolved(kind)) {
      const bool depends = !is_known && !starts_ && !ranges_.covers(key);
      result_.distances.push_back(depends ? kUnresolved : distance);
      if (depends) return push(is_filled ? Event::kFillingAccess : Event::kAccess, key);
      if (distance != kCold) return;
      ++cold_;
    }
    // The access is cold.
    if (kind != Event::kColdAgain && is_known) ++result_.events.cold_again;
    if (kind != Event::kColdAgain && !is_known) {
      push(is_filled ? Event::kColdFirstFilled : Event::kColdFirst, key);
    } else if (!is_filled) {
      push(Event::kColdAgain, 0);
    }
  }

  static Count access(DenseDistances& engine, std::uint32_t block) {
    Count distance;
    engine.process({&block, 1}, {&distance, 1});
    return distance;
  }

  void push(Event kind, std::uint64_t key) {
    if (starts_) return;
    result_.events.kinds.push_back(kind);
    result_.first.push_back(key);
  }

  void count_filling(Count distance) {
    const auto at = static_cast<std::size_t>(distance);
    if (at >= fillings_.size()) fillings_.resize(at + 1);
    ++fillings_[at];
  }

  DistanceHistogram histogram_of_fillings() const {
    DistanceHistogram histogram;
    for (std::size_t distance = 0; distance < fillings_.size(); ++distance) {
      if (fillings_[distance] == 0) continue;
      histogram.distance.push_back(static_cast<Count>(distance));
      histogram.count.push_back(fillings_[distance]);
    }
    return histogram;
  }

  // The slots of `left` that are left, below those of `right`.
  void add_stack(const DenseDistances& engine) {
    std::vector<std::uint32_t> slots = engine.stack();
    slots.resize(slots.size() - std::min(slots.size(), right_.last.size()));
    for (const std::uint32_t block : slots) {
      const bool is_hole = block == DenseDistances::kHole;
      if (is_hole) result_.events.holes.push_back(result_.last.size());
      result_.last.push_back(is_hole || block >= keys_.size() ? 0 : keys_[block]);
    }
    for (const std::uint64_t place : right_.events.holes) {
      result_.events.holes.push_back(result_.last.size() + place);
    }
    result_.last.insert(result_.last.end(), right_.last.begin(), right_.last.end());
    result_.events.gone = right_.events.gone;
    for (std::size_t block = 0; block < of_left_; ++block) {
      const bool is_gone = block >= in_stack_ || dropped_[block];
      if (is_gone && !touched_[block]) result_.events.gone.push_back(keys_[block]);
    }
  }

  PieceView left_;
  PieceView right_;
  bool starts_;
  std::vector<std::uint64_t> keys_;  // of the blocks of `left`, by number
  std::size_t in_stack_ = 0;
  std::size_t of_left_ = 0;
  std::size_t blocks_ = 0;
  std::vector<std::uint32_t> stack_;      // of `left`; numbers of its holes come after all blocks
  std::vector<std::uint32_t> of_events_;  // blocks of events that have one
  std::vector<bool> touched_;             // by `right`
  std::vector<bool> dropped_;             // discarded by `right`
  std::vector<std::uint32_t> by_key_;
  KeyRanges ranges_;  // discarded by `left`
  std::uint32_t next_unused_ = 0;
  Count cold_ = 0;
  std::vector<Count> fillings_;
  ReplayResult result_;
};

}  // namespace

std::size_t unresolved_in(const PieceEvents& events, std::size_t count) {
  if (events.kinds.empty()) return count;
  return static_cast<std::size_t>(std::ranges::count_if(events.kinds, is_unresolved));
}

void KeyRanges::add(std::uint64_t begin, std::uint64_t end) {
  std::uint64_t last = end - 1;
  auto next = last_of_.upper_bound(begin);
  if (next != last_of_.begin() && std::prev(next)->second >= begin) {
    --next;
    begin = next->first;
  }
  while (next != last_of_.end() && next->first <= last) {
    last = std::max(last, next->second);
    next = last_of_.erase(next);
  }
  last_of_.emplace_hint(next, begin, last);
}

bool KeyRanges::covers(std::uint64_t key) const {
  const auto next = last_of_.upper_bound(key);
  return next != last_of_.begin() && std::prev(next)->second >= key;
}

PieceEngine::PieceEngine(std::span<const std::uint32_t> blocks,
                         std::span<const std::uint64_t> key_of, Discards discards)
    : blocks_(blocks),
      key_of_(key_of),
      discards_(discards),
      engine_(key_of.size()),
      seen_(key_of.size()) {}

void PieceEngine::process(std::size_t count, std::span<Count> distances) {
  while (count > 0) {
    while (discarded_ < discards_.at.size() && discards_.at[discarded_] <= done_) {
      discard(discards_.begin[discarded_], discards_.end[discarded_]);
      ++discarded_;
    }
    std::size_t run = count;
    if (discarded_ < discards_.at.size()) {
      run = std::min<std::size_t>(run, discards_.at[discarded_] - done_);
    }
    process_run(blocks_.subspan(done_, run), distances.empty() ? distances : distances.first(run));
    if (!distances.empty()) distances = distances.subspan(run);
    done_ += run;
    count -= run;
  }
}

void PieceEngine::process_run(std::span<const std::uint32_t> run, std::span<Count> distances) {
  if (discarded_ > 0) {
    for (std::size_t i = 0; i < run.size(); ++i) {
      const Count distance = access(run[i]);
      if (!distances.empty()) distances[i] = distance;
    }
    return;
  }
  if (distances.empty()) {
    engine_.process(run);
  } else {
    engine_.process(run, distances);
    std::ranges::replace(distances, kCold, kUnresolved);
  }
  for (std::size_t i = 0; i < run.size() && result_.first.size() < key_of_.size(); ++i) {
    if (seen_[run[i]]) continue;
    seen_[run[i]] = true;
    result_.first.push_back(key_of_[run[i]]);
  }
}

Count PieceEngine::access(std::uint32_t block) {
  const bool is_filled = engine_.holes() > 0;
  Count distance;
  engine_.process({&block, 1}, {&distance, 1});
  if (distance != kCold) return distance;
  if (seen_[block]) {
    ++result_.resolved.cold;
    ++result_.events.cold_again;
    if (!is_filled) push(Event::kColdAgain, 0);
    return kCold;
  }
  seen_[block] = true;
  if (ranges_.covers(key_of_[block])) {
    ++result_.resolved.cold;
    push(is_filled ? Event::kColdFirstFilled : Event::kColdFirst, key_of_[block]);
    return kCold;
  }
  push(is_filled ? Event::kFillingAccess : Event::kAccess, key_of_[block]);
  return kUnresolved;
}

void PieceEngine::discard(std::uint64_t begin, std::uint64_t end) {
  if (discarded_ == 0) {
    result_.events.kinds.assign(result_.first.size(), Event::kAccess);
    by_key_.resize(key_of_.size());
    std::iota(by_key_.begin(), by_key_.end(), 0U);
    std::ranges::sort(by_key_, {}, [&](std::uint32_t block) { return key_of_[block]; });
  }
  const auto first = std::ranges::lower_bound(by_key_, begin, {},
                                              [&](std::uint32_t block) { return key_of_[block]; });
  for (auto at = first; at != by_key_.end() && (end == 0 || key_of_[*at] < end); ++at) {
    engine_.discard(*at);
  }
  ranges_.add(begin, end);
  push(Event::kDiscardBegin, begin);
  push(Event::kDiscardEnd, end);
}

void PieceEngine::push(PieceEvent kind, std::uint64_t key) {
  result_.events.kinds.push_back(kind);
  result_.first.push_back(key);
}

PieceEngine::Result PieceEngine::finish() {
  for (; discarded_ < discards_.at.size(); ++discarded_) {
    discard(discards_.begin[discarded_], discards_.end[discarded_]);
  }
  const Count cold = result_.resolved.cold;
  result_.resolved = engine_.histogram();
  result_.resolved.cold = cold;
  std::vector<bool> in_stack(key_of_.size());
  for (const std::uint32_t block : engine_.stack()) {
    if (block == DenseDistances::kHole) {
      result_.events.holes.push_back(result_.last.size());
      result_.last.push_back(0);
    } else {
      in_stack[block] = true;
      result_.last.push_back(key_of_[block]);
    }
  }
  for (std::size_t block = 0; block < in_stack.size() && discarded_ > 0; ++block) {
    if (seen_[block] && !in_stack[block]) result_.events.gone.push_back(key_of_[block]);
  }
  return std::move(result_);
}

absl::StatusOr<ReplayResult> replay(const PieceView& left, const PieceView& right, bool starts,
                                    bool ends) {
  return Replay(left, right, starts).run(ends);
}

}  // namespace mcsim
