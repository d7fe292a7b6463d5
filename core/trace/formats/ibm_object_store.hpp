#pragma once

#include "core/trace/formats/layout.hpp"

namespace mcsim {

// Object-store traces of IBM (Eytan et al., HotStorage'20), SNIA IOTTA trace set 36305. Three to
// six columns separated by blanks:
//
//   time (ms), request, key, size (bytes), first byte, last byte
//
// A request is for the whole object, whatever its range. HEAD requests read no data and are
// filtered.
class IbmObjectStoreReader final : public LayoutReader<IbmObjectStoreReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "ibm-object-store", "IBM object store: time in ms, REST request, key, size, range",
      "Eytan et al.: It's Time to Revisit LRU vs. FIFO (HotStorage 2020); SNIA IOTTA 36305"};

  using LayoutReader::LayoutReader;

  static TextLayout layout() {
    return {.delimiter = ' ',
            .columns = 6,
            .optional = 3,
            .mapping = {.time = "1",
                        .time_unit = TimeUnit::kMilliseconds,
                        .op = "2",
                        .read = "REST.GET.OBJECT",
                        .write = "REST.PUT.OBJECT,REST.COPY.OBJECT",
                        .discard = "REST.DELETE.OBJECT",
                        .flush = "",
                        .ignored = "REST.HEAD.OBJECT",
                        .length = "4",
                        .key = "3"}};
  }
};

}  // namespace mcsim
