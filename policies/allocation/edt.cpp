#include "policies/allocation/edt.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace mcsim {
namespace {

// Tolerance, so that an exactly exhausted budget still fits despite rounding of the sum.
constexpr double kRounding = 1e-9;

}  // namespace

void Edt::end_epoch(std::vector<double>& scores) const {
  for (double& score : scores) score *= memory_;
}

std::vector<Edt::Place> Edt::places() const {
  const double extent_gb = static_cast<double>(extent_bytes()) / 1e9;
  const auto place = [&](const Device& device, double extents) {
    const double busy_ns = device.busy_ns(static_cast<double>(block_bytes()));
    return Place{.price = extents * extent_gb * device.dollars_per_gb,
                 .extents = extents,
                 .operations = static_cast<double>(epoch()) / busy_ns};
  };
  std::vector<Place> places;
  const std::vector<Count> rooms = this->rooms();
  for (std::size_t k = 0; k < rooms.size(); ++k) {
    places.push_back(place(machine().tiers[k].device, static_cast<double>(rooms[k])));
  }
  places.push_back(place(machine().backend, drive_gb_ / extent_gb));
  return places;
}

double Edt::cost(const Place& place, double operations) {
  return std::max(1 / place.extents, operations / place.operations) * place.price;
}

// Fill the tiers from the fastest. Candidates are the extents that are cheapest there among the
// remaining devices; those that save most against the next cheapest device come first.
std::vector<std::size_t> Edt::wanted() const {
  const std::vector<Place> places = this->places();
  const std::size_t backend = places.size() - 1;
  std::vector<std::size_t> wanted(scores().size(), backend);
  std::vector<bool> settled(scores().size());
  for (std::size_t k = 0; k < backend; ++k) {
    std::vector<std::tuple<double, std::size_t, std::size_t>> order;  // saving, place, extent
    for (std::size_t extent = 0; extent < wanted.size(); ++extent) {
      const double operations = scores()[extent];
      if (settled[extent] || operations <= 0 || places[k].extents < 1) continue;
      double elsewhere = std::numeric_limits<double>::infinity();
      for (std::size_t slower = k + 1; slower <= backend; ++slower) {
        if (slower < backend && places[slower].extents < 1) continue;
        elsewhere = std::min(elsewhere, cost(places[slower], operations));
      }
      const double saving = elsewhere - cost(places[k], operations);
      if (saving > 0) order.emplace_back(-saving, placed()[extent], extent);
    }
    std::ranges::sort(order);
    double room = places[k].extents;
    double operations = busy_ * places[k].operations * (1 + kRounding);
    for (const auto& [saving, at, extent] : order) {
      if (room < 1) break;
      if (scores()[extent] > operations) continue;
      wanted[extent] = k;
      settled[extent] = true;
      room -= 1;
      operations -= scores()[extent];
    }
  }
  return wanted;
}

}  // namespace mcsim
