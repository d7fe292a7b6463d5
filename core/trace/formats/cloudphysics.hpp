#pragma once

#include "core/trace/formats/layout.hpp"

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
                        .read = "28,8,08,a8,88",
                        .write = "2a,a,0a,aa,8a,2e,ae,8e,89",
                        .discard = "42,41,93",
                        .flush = "35,91",
                        // Reservations, senses, inquiries, verifications and similar commands.
                        .ignored = "0,00,3,03,12,15,16,17,1a,1b,1e,25,2f,37,4d,55,56,57,5a,5e,5f,"
                                   "8f,9e,a0,a3,a4,af",
                        .offset = "5",
                        .offset_unit = LengthUnit::kSectors,
                        .length = "4"}};
  }
};

}  // namespace mcsim
