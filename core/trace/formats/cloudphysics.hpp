#pragma once

#include "core/trace/formats/layout.hpp"
#include "core/trace/formats/scsi_commands.hpp"

namespace mcsim {

// Disk traces of CloudPhysics (Waldspurger et al., FAST'15), as text. Five columns:
//
//   version, time (us), SCSI operation (hexadecimal), size (bytes), offset (sectors)
//
// The first line may name the columns: version,time,op,size,lbn. The VM is the file.
class CloudPhysicsReader final : public LayoutReader<CloudPhysicsReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "cloudphysics", "CloudPhysics as CSV: version, time in us, SCSI operation, size, sector",
      "Waldspurger et al.: SHARDS (FAST 2015); data/trace.csv of PyMimircache"};

  using LayoutReader::LayoutReader;

  static TextLayout layout() {
    return {.columns = 5,
            .header = "version,time,op",
            .mapping = {.time = "2",
                        .time_unit = TimeUnit::kMicroseconds,
                        .op = "3",
                        .read = scsi_words(Operation::kRead),
                        .write = scsi_words(Operation::kWrite),
                        .discard = scsi_words(Operation::kDiscard),
                        .flush = scsi_words(Operation::kFlush),
                        .ignored = scsi_words(Operation::kIgnored),
                        .offset = "5",
                        .offset_unit = LengthUnit::kSectors,
                        .length = "4"}};
  }
};

}  // namespace mcsim
