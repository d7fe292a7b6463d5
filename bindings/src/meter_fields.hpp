#pragma once

#include "bindings/src/pybind.hpp"
#include "core/locality/profile/meters.hpp"

// The fields of each meter's values under their Python names: visit(name, read) is called for each.
namespace mcsim::python {

template <class Visit>
void visit_fields(const LoadMeter& meter, Visit visit) {
  for_each_field(std::tuple{MCSIM_FIELDS(Load, requests, read_requests, write_requests, accesses,
                                         reads, writes)},
                 visit);
  if (!meter.bytes) return;
  visit("bytes_read", [](const Load& of) { return of.bytes[0]; });
  visit("bytes_written", [](const Load& of) { return of.bytes[1]; });
}

template <class Visit>
void visit_fields(const ClassMeter&, Visit visit) {
  visit("cold_reads", [](const ClassCounts& of) { return of.cold[0]; });
  visit("cold_writes", [](const ClassCounts& of) { return of.cold[1]; });
  const auto visit_again = [&](const char* name, RequestClass which) {
    visit(name, [which](const ClassCounts& of) { return of.of(which); });
  };
  visit_again("rar", RequestClass::kRar);
  visit_again("raw", RequestClass::kRaw);
  visit_again("war", RequestClass::kWar);
  visit_again("waw", RequestClass::kWaw);
}

template <class Visit>
void visit_fields(const ResponseMeter&, Visit visit) {
  for_each_field(std::tuple{MCSIM_FIELDS(Responses, requests, mean_ns, outstanding)}, visit);
}

}  // namespace mcsim::python
