#include "policies/hosts/admission_registry.hpp"

#include "policies/hosts/admission.hpp"
#include "policies/hosts/sequential_filter.hpp"

namespace mcsim {
namespace {

// All admission filters.
using AllAdmissionFilters = TypeList<AdmitAll, NthAccess, Staged, WithProbability, SeenBefore,
                                     SmallRequests, SequentialFilter, TinyLfuFilter>;

}  // namespace

const Registry<AdmissionFilter, AdmissionSetup>& admission_registry() {
  static const Registry<AdmissionFilter, AdmissionSetup> registry("admission filter",
                                                                  AllAdmissionFilters{});
  return registry;
}

}  // namespace mcsim
