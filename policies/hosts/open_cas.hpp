#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/pages.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/slot.hpp"
#include "core/containers/slot_lists.hpp"
#include "policies/hosts/open_cas_lines.hpp"
#include "policies/hosts/open_cas_streams.hpp"

namespace mcsim {

enum class OpenCasWrites : std::uint8_t { kThrough, kBack, kAround, kOnly, kPass };

template <>
struct Choices<OpenCasWrites> {
  static constexpr std::array names{
      std::pair{"through", OpenCasWrites::kThrough}, std::pair{"back", OpenCasWrites::kBack},
      std::pair{"around", OpenCasWrites::kAround}, std::pair{"only", OpenCasWrites::kOnly},
      std::pair{"pass", OpenCasWrites::kPass}};
};

enum class OpenCasPromotion : std::uint8_t { kAlways, kNhit };

template <>
struct Choices<OpenCasPromotion> {
  static constexpr std::array names{std::pair{"always", OpenCasPromotion::kAlways},
                                    std::pair{"nhit", OpenCasPromotion::kNhit}};
};

enum class OpenCasCutoff : std::uint8_t { kFull, kAlways, kOff };

template <>
struct Choices<OpenCasCutoff> {
  static constexpr std::array names{std::pair{"full", OpenCasCutoff::kFull},
                                    std::pair{"always", OpenCasCutoff::kAlways},
                                    std::pair{"never", OpenCasCutoff::kOff}};
};

enum class OpenCasCleaning : std::uint8_t { kAlru, kNop };

template <>
struct Choices<OpenCasCleaning> {
  static constexpr std::array names{std::pair{"alru", OpenCasCleaning::kAlru},
                                    std::pair{"nop", OpenCasCleaning::kNop}};
};

struct OpenCasSetup {
  std::size_t lines = 1;        // cache lines
  std::size_t trace_lines = 0;  // lines of all core devices
  std::size_t cores = 1;
  Count line_bytes = 4096;
  OpenCasWrites writes = OpenCasWrites::kThrough;
  OpenCasPromotion promotion = OpenCasPromotion::kAlways;
  std::uint32_t nhit_threshold = 3;
  Count nhit_trigger = 80;  // percent of occupied lines
  OpenCasCutoff cutoff = OpenCasCutoff::kFull;
  std::uint64_t cutoff_bytes = 1 << 20;
  OpenCasCleaning cleaning = OpenCasCleaning::kAlru;
  Nanoseconds wake = 20 * kSecond;
  Nanoseconds stale = 120 * kSecond;
  std::size_t flush_lines = 100;
  Nanoseconds idle = 10 * kSecond;
  Count dirty_ratio = 100;  // percent
  Count dirty_inertia = 128 << 20;

  bool keeps_dirty() const {
    return writes == OpenCasWrites::kBack || writes == OpenCasWrites::kOnly;
  }
};

enum class OpenCasOutcome : std::uint8_t { kHit, kPartial, kMiss, kPass };

// The blocks of a request in one line.
struct OpenCasPart {
  std::uint32_t line;
  std::uint64_t blocks;    // bits of the blocks in the line
  std::uint64_t hits = 0;  // the blocks that were valid
  Slot slot = kNoSlot;
  bool is_new = false;  // mapped by this request
};

struct OpenCasRequest {
  Nanoseconds time;  // since the cache was created
  Op op;
  std::size_t core;
  std::uint64_t offset;
  std::uint64_t bytes;
};

// Open CAS (OCF v26.03.1) with one queue, one request in flight, and work in the background that
// ends before the next request. Lines of a request are consecutive on one core device.
//
// `Sink` receives the changes of blocks, as bits:
//
//   void filled(std::uint32_t line, std::uint64_t blocks);
//   void evicted(std::uint32_t line, std::uint64_t blocks);
//   void invalidated(std::uint32_t line, std::uint64_t blocks);
//   void dirtied(std::uint32_t line, std::uint64_t blocks);
//   void cleaned(std::uint32_t line, std::uint64_t blocks);
//   bool precedes(std::uint32_t line, std::uint32_t other);  // the order of write-backs
//
// Memory beyond OpenCasLines: 8 bytes a cache line for cleaning, 8 bytes a cache line and 4 bytes a
// line of the trace for nhit, 7 KiB a core device for its streams.
class OpenCas {
 public:
  explicit OpenCas(const OpenCasSetup& setup)
      : setup_(setup),
        lines_(setup.lines, setup.trace_lines),
        aged_(setup.keeps_dirty() ? setup.lines : 0),
        trigger_((static_cast<Count>(setup.lines) * setup.nhit_trigger + 99) / 100),
        core_streams_(setup.cores) {
    if (setup.promotion != OpenCasPromotion::kNhit) return;
    seen_ = Pages<std::uint32_t>(setup.trace_lines);
    ring_.assign(2 * setup.lines, kNoLine);
  }

  const OpenCasLines& lines() const { return lines_; }

  template <class Sink>
  OpenCasOutcome request(const OpenCasRequest& request, std::span<OpenCasPart> parts, Sink& sink) {
    if (setup_.keeps_dirty()) run_until(request.time, sink);
    ++number_;
    to_clean_.clear();
    look_up(parts);
    const bool is_cut = cuts_off(request, parts.size());
    const OpenCasOutcome outcome = serve(request.op, is_cut, parts, sink);
    if (setup_.cutoff != OpenCasCutoff::kOff) follow(request);
    return outcome;
  }

  // Run the cleaner.
  template <class Sink>
  void run_until(Nanoseconds time, Sink& sink) {
    while (next_wake_ <= time) {
      now_ = next_wake_;
      if (setup_.cleaning == OpenCasCleaning::kAlru) clean_aged(sink);
      next_wake_ += setup_.wake;
    }
    now_ = time;
  }

  // Remove blocks of a line without a write-back. Return the removed ones that were dirty.
  template <class Sink>
  std::uint64_t drop(std::uint32_t line, std::uint64_t blocks, Sink& sink) {
    const Slot slot = lines_.find(line);
    if (slot == kNoSlot) return 0;
    const std::uint64_t dirty = lines_[slot].dirty & blocks;
    if (dirty != 0) make_clean(slot, dirty);
    invalidate(slot, blocks, sink);
    return dirty;
  }

  // Write back and remove a line.
  template <class Sink>
  void release(std::uint32_t line, Sink& sink) {
    const Slot slot = lines_.find(line);
    if (slot == kNoSlot) return;
    clean(slot, sink);
    invalidate(slot, ~std::uint64_t{0}, sink);
  }

  void prefetch(std::uint32_t line) const { lines_.prefetch(line); }
  void prefetch_cached(std::uint32_t line) const { lines_.prefetch_cached(line); }

  absl::Status check() const {
    MCSIM_RETURN_IF_ERROR(aged_.check());
    if (aged_.size() != lines_.dirty()) {
      return internal_error("open-cas: {} dirty lines, {} in the order of their writes",
                            lines_.dirty(), aged_.size());
    }
    return lines_.check();
  }

 private:
  using State = OpenCasLines::State;
  using QueueStreams = OpenCasStreams<64>;
  using CoreStreams = OpenCasStreams<128>;

  static constexpr std::uint32_t kNoLine = ~std::uint32_t{0};
  static constexpr Count kCutoffMargin = 512;           // free lines of a full cache
  static constexpr std::uint32_t kPromotedStreams = 8;  // requests
  static constexpr std::size_t kCleanedAtOnce = 32;
  static constexpr Nanoseconds kMillisecond = kSecond / 1000;

  void look_up(std::span<OpenCasPart> parts) {
    hits_ = mapped_ = 0;
    for (OpenCasPart& part : parts) {
      part.slot = lines_.find(part.line);
      if (part.slot == kNoSlot) continue;
      OpenCasLines::Line& line = lines_[part.slot];
      line.request = number_;
      part.hits = line.valid & part.blocks;
      ++mapped_;
      hits_ += part.hits == part.blocks ? 1 : 0;
    }
  }

  OpenCasOutcome outcome_of(std::span<const OpenCasPart> parts) const {
    if (hits_ == parts.size()) return OpenCasOutcome::kHit;
    return hits_ > 0 ? OpenCasOutcome::kPartial : OpenCasOutcome::kMiss;
  }

  template <class Sink>
  OpenCasOutcome serve(Op op, bool is_cut, std::span<OpenCasPart> parts, Sink& sink) {
    const bool is_write = op == Op::kWrite;
    if (setup_.writes == OpenCasWrites::kPass || is_cut || parts.size() > lines_.size()) {
      active_ = now_;
      return is_write ? write_invalidate(parts, sink) : pass(parts, is_cut, sink);
    }
    if (setup_.keeps_dirty()) {
      touch(parts);
      if (!is_write && hits_ == parts.size()) return OpenCasOutcome::kHit;
      active_ = now_;
      if (is_write && mapped_ == parts.size()) return write_back(parts, sink);
    }
    if (!is_write) {
      if (setup_.writes != OpenCasWrites::kOnly) return read(parts, sink);
      touch(parts);
      return outcome_of(parts);
    }
    if (setup_.writes == OpenCasWrites::kAround) {
      touch(parts);
      if (hits_ < parts.size()) return write_invalidate(parts, sink);
    }
    if (!map(parts, sink)) return write_invalidate(parts, sink);
    if (setup_.keeps_dirty()) return write_back(parts, sink);
    validate(parts, sink);
    return outcome_of(parts);
  }

  template <class Sink>
  OpenCasOutcome read(std::span<OpenCasPart> parts, Sink& sink) {
    if (!map(parts, sink)) return pass(parts, false, sink);
    if (hits_ < parts.size()) {
      for (const OpenCasPart& part : parts) clean(part.slot, sink);
      validate(parts, sink);
    }
    return outcome_of(parts);
  }

  template <class Sink>
  OpenCasOutcome write_back(std::span<OpenCasPart> parts, Sink& sink) {
    validate(parts, sink);
    for (const OpenCasPart& part : parts) {
      OpenCasLines::Line& line = lines_[part.slot];
      const std::uint64_t added = part.blocks & ~line.dirty;
      if (line.dirty == 0) {
        lines_.move(part.slot, State::kDirty);
        aged_.push_front(part.slot);
      }
      line.dirty |= added;
      if (added != 0) sink.dirtied(part.line, added);
    }
    for (const OpenCasPart& part : parts) {
      aged_.move_to_front(part.slot);
      lines_[part.slot].written = static_cast<std::uint32_t>(now_ / kSecond);
    }
    return outcome_of(parts);
  }

  // Write to the core device, and remove the blocks.
  template <class Sink>
  OpenCasOutcome write_invalidate(std::span<OpenCasPart> parts, Sink& sink) {
    touch(parts);
    clean_all(parts, sink);
    for (OpenCasPart& part : parts) {
      part.hits = 0;
      if (part.slot != kNoSlot && invalidate(part.slot, part.blocks, sink)) part.slot = kNoSlot;
    }
    if (hits_ < parts.size()) touch(parts);
    return OpenCasOutcome::kPass;
  }

  // Read from the core device. A stream reads its blocks from the cache if all are dirty.
  template <class Sink>
  OpenCasOutcome pass(std::span<OpenCasPart> parts, bool is_cut, Sink& sink) {
    touch(parts);
    const auto is_dirty = [this](const OpenCasPart& part) {
      return part.slot != kNoSlot && (part.blocks & ~lines_[part.slot].dirty) == 0;
    };
    if (is_cut && std::ranges::all_of(parts, is_dirty)) return read(parts, sink);
    clean_all(parts, sink);
    for (OpenCasPart& part : parts) part.hits = 0;
    return OpenCasOutcome::kPass;
  }

  void touch(std::span<const OpenCasPart> parts) {
    for (const OpenCasPart& part : parts) {
      if (part.slot != kNoSlot && !part.is_new) lines_.touch(part.slot);
    }
  }

  template <class Sink>
  void validate(std::span<const OpenCasPart> parts, Sink& sink) {
    for (const OpenCasPart& part : parts) {
      const std::uint64_t added = part.blocks & ~part.hits;
      if (added == 0) continue;
      lines_[part.slot].valid |= added;
      sink.filled(part.line, added);
    }
  }

  // Return whether the line is free.
  template <class Sink>
  bool invalidate(Slot slot, std::uint64_t blocks, Sink& sink) {
    OpenCasLines::Line& line = lines_[slot];
    if ((line.valid & blocks) != 0) sink.invalidated(line.line, line.valid & blocks);
    line.valid &= ~blocks;
    if (line.valid != 0) return false;
    lines_.release(slot);
    return true;
  }

  // Map all lines of a request. Return whether that was possible.
  template <class Sink>
  bool map(std::span<OpenCasPart> parts, Sink& sink) {
    if (mapped_ < parts.size()) {
      if (!is_promoted(parts) && mapped_ == 0) return false;
      needed_.clear();
      for (const OpenCasPart& part : parts) {
        if (part.slot == kNoSlot) needed_.push_back(part.line);
      }
      const auto evicted = [this, &sink](Slot slot) {
        if (lines_[slot].valid != 0) sink.evicted(lines_[slot].line, lines_[slot].valid);
      };
      if (lines_.take(needed_, number_, taken_, evicted) < needed_.size()) {
        for (const Slot slot : taken_) lines_.release(slot);
        lines_.coldest(kCleanedAtOnce, to_clean_);
        sort(to_clean_, sink);
        return false;
      }
      std::size_t taken = 0;
      for (OpenCasPart& part : parts) {
        if (part.slot != kNoSlot) continue;
        part.slot = taken_[taken++];
        part.is_new = true;
      }
      forget_seen(parts);
    }
    touch(parts);
    return true;
  }

  // Promotion (src/promotion/nhit)

  bool is_promoted(std::span<const OpenCasPart> parts) {
    if (setup_.promotion == OpenCasPromotion::kAlways) return true;
    if (static_cast<Count>(lines_.size()) - lines_.free() < trigger_) return true;
    bool is_promoted = true;
    for (const OpenCasPart& part : parts) {
      std::uint32_t& count = seen_[part.line];  // 1 more than the requests; 0: unknown
      if (count > 0) {
        ++count;
        is_promoted &= count > setup_.nhit_threshold;
        continue;
      }
      is_promoted = false;
      if (ring_[ring_at_] != kNoLine) seen_[ring_[ring_at_]] = 0;
      ring_[ring_at_] = part.line;
      ring_at_ = (ring_at_ + 1) % ring_.size();
      count = 2;
    }
    return is_promoted;
  }

  void forget_seen(std::span<const OpenCasPart> parts) {
    if (setup_.promotion == OpenCasPromotion::kAlways) return;
    for (const OpenCasPart& part : parts) {
      if (seen_[part.line] > 0) seen_[part.line] = 1;
    }
  }

  // Sequential cut-off (src/ocf_seq_cutoff.c, src/ocf_seq_detect.c)

  bool cuts_off(const OpenCasRequest& request, std::size_t lines) const {
    if (setup_.cutoff == OpenCasCutoff::kOff) return false;
    const Count full = kCutoffMargin + static_cast<Count>(lines);
    if (setup_.cutoff == OpenCasCutoff::kFull && lines_.free() > full) return false;
    std::uint64_t bytes = 0;
    if (const auto id = queue_streams_.find(request.op, request.offset);
        id != QueueStreams::kNone) {
      bytes = queue_streams_[id].bytes;
    } else {
      const CoreStreams* of_core = core_streams_[request.core].get();
      if (of_core == nullptr) return false;
      const auto promoted = of_core->find(request.op, request.offset);
      if (promoted == CoreStreams::kNone) return false;
      bytes = (*of_core)[promoted].bytes;
    }
    return bytes + request.bytes >= setup_.cutoff_bytes;
  }

  void follow(const OpenCasRequest& request) {
    std::unique_ptr<CoreStreams>& of_core = core_streams_[request.core];
    if (of_core != nullptr) {
      const auto id = of_core->extend(request.op, request.offset, request.bytes);
      if (id != CoreStreams::kNone) return;
    }
    auto id = queue_streams_.extend(request.op, request.offset, request.bytes);
    if (id == QueueStreams::kNone) {
      const std::uint64_t end = request.offset + request.bytes;
      id =
          queue_streams_.start(QueueStreams::Tree::key_of(true, request.op, end), request.bytes, 1);
    }
    const auto& stream = queue_streams_[id];
    if (stream.requests < kPromotedStreams) return;
    if (of_core == nullptr) of_core = std::make_unique<CoreStreams>();
    of_core->start(stream.key | QueueStreams::Tree::key_of(true, Op::kRead, 0), stream.bytes,
                   stream.requests);
    queue_streams_.invalidate(id);
  }

  // Cleaning (src/utils/utils_cleaner.c, src/cleaning/alru.c)

  void make_clean(Slot slot, std::uint64_t blocks) {
    OpenCasLines::Line& line = lines_[slot];
    line.dirty &= ~blocks;
    if (line.dirty != 0) return;
    lines_.move(slot, State::kClean);
    aged_.erase(slot);
  }

  template <class Sink>
  void clean(Slot slot, Sink& sink) {
    if (slot == kNoSlot || lines_[slot].dirty == 0) return;
    sink.cleaned(lines_[slot].line, lines_[slot].dirty);
    make_clean(slot, ~std::uint64_t{0});
  }

  template <class Sink>
  void clean_all(std::span<const OpenCasPart> parts, Sink& sink) {
    if (!setup_.keeps_dirty()) return;
    for (const Slot slot : to_clean_) clean(slot, sink);
    for (const OpenCasPart& part : parts) clean(part.slot, sink);
  }

  template <class Sink>
  void sort(std::vector<Slot>& slots, Sink& sink) const {
    std::ranges::sort(slots, [this, &sink](Slot a, Slot b) {
      return sink.precedes(lines_[a].line, lines_[b].line);
    });
  }

  template <class Sink>
  void clean_aged(Sink& sink) {
    while (true) {
      const bool exceeds = exceeds_ratio();
      if (!exceeds && !is_time()) return;
      const Nanoseconds before = exceeds ? now_ + kSecond : now_ - setup_.stale;
      to_clean_.clear();
      for (Slot slot = aged_.back(); slot != kNoSlot && to_clean_.size() < setup_.flush_lines;
           slot = aged_.newer(slot)) {
        if (before < 0 || lines_[slot].written >= before / kSecond) break;
        to_clean_.push_back(slot);
      }
      if (to_clean_.empty()) break;
      sort(to_clean_, sink);
      for (const Slot slot : to_clean_) clean(slot, sink);
    }
    cleaned_ = now_;
  }

  bool is_time() const {
    return now_ / kMillisecond - active_ / kMillisecond >= setup_.idle / kMillisecond &&
           now_ / kSecond - cleaned_ / kSecond > setup_.wake / kSecond;
  }

  bool exceeds_ratio() {
    if (setup_.dirty_ratio == 100) return false;
    Count most = static_cast<Count>(lines_.size()) / 100 * setup_.dirty_ratio;
    if (is_above_ratio_) {
      const Count inertia = setup_.dirty_inertia / setup_.line_bytes;
      if (inertia >= most) return true;
      most -= inertia;
    }
    is_above_ratio_ = lines_.dirty() >= most;
    return is_above_ratio_;
  }

  OpenCasSetup setup_;
  OpenCasLines lines_;
  SlotLists<> aged_;  // dirty lines, the last write in front
  Count trigger_;     // occupied lines from which nhit refuses requests
  Pages<std::uint32_t> seen_;
  std::vector<std::uint32_t> ring_;
  std::size_t ring_at_ = 0;
  QueueStreams queue_streams_;
  std::vector<std::unique_ptr<CoreStreams>> core_streams_;  // none before its first stream
  // The request in work.
  std::uint32_t number_ = 0;
  std::size_t hits_ = 0;
  std::size_t mapped_ = 0;
  std::vector<std::uint32_t> needed_;
  std::vector<Slot> taken_;
  std::vector<Slot> to_clean_;
  Nanoseconds now_ = 0;
  Nanoseconds next_wake_ = 0;
  Nanoseconds active_ = 0;
  Nanoseconds cleaned_ = -setup_.wake - kSecond;
  bool is_above_ratio_ = false;
};

}  // namespace mcsim
