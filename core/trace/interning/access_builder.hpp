#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/tick.hpp"
#include "core/trace/accesses.hpp"
#include "core/trace/interning/request_streams.hpp"
#include "core/trace/requests.hpp"

namespace mcsim {

class AccessesSink;

// Builds Accesses from the requests of one or more VMs. Each VM is one stream, added chunk by
// chunk in time order; finish() merges the streams by (time, VM, position).
//
// Cost: one hash look-up per block; 4 bytes per access and 24 per request while building, and the
// same again while merging. A builder that writes a file keeps these on disk. It then only keeps
// the tables of ids in memory: 11 to 22 bytes a block of the largest VM.
class AccessBuilder {
 public:
  // A file to write, as by write_accesses(). Streams that take more than `most_in_memory` bytes
  // are spilled to unnamed files in its folder.
  struct ToFile {
    std::string path;
    std::size_t most_in_memory = std::size_t{1} << 29;
  };

  AccessBuilder(ExpandOptions options, TimeBase time_base,
                std::optional<ToFile> to_file = std::nullopt);
  AccessBuilder(AccessBuilder&&) noexcept;
  AccessBuilder& operator=(AccessBuilder&&) noexcept;
  ~AccessBuilder();

  // Starts a VM; the following add() calls feed it until the next begin_vm(). Fails if the name
  // is not valid, or if there are kMostVms already.
  absl::Status begin_vm(std::string name);

  // Adds requests of the current VM. `only` selects the requests of that VM from a file with
  // several VMs; otherwise `chunk.vm` is not read. `shift` is added to every time (clock
  // alignment). Optional columns of `chunk` are read if the options keep them; fails with
  // InvalidArgument if one is missing. Discards are not requests: they take effect for every
  // OpFilter, on the blocks that they cover completely. The tick receives the number of accesses.
  // After an error in a request or in the tick, the builder is unusable: all later calls return the
  // same error.
  absl::Status add(const RequestsView& chunk, std::optional<VmId> only = std::nullopt,
                   Nanoseconds shift = 0, const Tick& tick = nullptr);

  // Makes the requests of the current VM so far its warm-up. finish() fails unless the warm-up of
  // all VMs is earlier than all other requests.
  void end_warm_up();

  // Sets the arrival of the current VM. Fails if the VM already has a request.
  absl::Status arrive(Nanoseconds time);

  // Sets the departure of the current VM, after all its requests were added.
  absl::Status depart(Nanoseconds time);

  // Fails with InvalidArgument if response times are kept and a VM has none, with
  // ResourceExhausted if there are more distinct blocks than ids. Every function returns
  // ResourceExhausted if memory runs out, and so do all later calls. After finish() all calls fail.
  absl::StatusOr<Accesses> finish() &&;

 private:
  void push_stream(std::string name);
  absl::Status latch_error(absl::Status status);
  absl::Status add_requests(const RequestsView& chunk, std::optional<VmId> only, Nanoseconds shift,
                            const Tick& tick);
  absl::Status take(const RequestsView& chunk, std::size_t i, Nanoseconds at, const Tick& tick);
  absl::Status discard(std::uint64_t offset, std::uint32_t length, Nanoseconds at,
                       const Tick& tick);
  absl::Status number_keys(const Tick& tick);
  absl::Status spill();
  absl::StatusOr<Accesses> without_columns() const;
  void push_addresses(AccessesSink& sink) const;
  absl::StatusOr<Accesses> merge();

  ExpandOptions options_;
  TimeBase time_base_;
  Nanoseconds first_time_;  // of all requests, including filtered ones
  GivenCounts given_;
  Count discard_requests_ = 0;
  Count discards_since_tick_ = 0;  // discards and the blocks that they discard
  std::optional<ToFile> to_file_;
  std::unique_ptr<interning::Spill> spill_;  // null until a stream is spilled
  std::size_t bytes_before_last_ = 0;        // bytes of streams in memory, without the last
  std::vector<interning::RequestStream> streams_;
  Count reported_ = 0;    // accesses reported to the tick
  Count unreported_ = 0;  // accesses since then
  absl::Status sticky_error_;
};

}  // namespace mcsim
