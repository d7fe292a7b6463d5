// Trusts: the prose of core/base/params.hpp, stated here as messages and values.
#include "core/base/params.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mcsim {

enum class Mode { kSlow, kFast };

template <>
struct Choices<Mode> {
  static constexpr std::array names{std::pair{"slow", Mode::kSlow}, std::pair{"fast", Mode::kFast}};
};

namespace {

struct Params {
  Count rounds = 3;
  double share = 0.5;
  Duration period{60 * kSecond};
  bool loud = false;
  Mode mode = Mode::kFast;
  PerVm weight;

  static constexpr auto fields() {
    return std::tuple{
        Field{"rounds", &Params::rounds, "how often", 1, 10},
        Field{"share", &Params::share, "of the whole", 0, 1},
        Field{"period", &Params::period, "between two", 1},
        Field{"loud", &Params::loud, "say more"},
        Field{"mode", &Params::mode, "how"},
        Field{"weight", &Params::weight, "of each VM"},
    };
  }
};

std::string complaint(const ParamMap& given) {
  return message_of(parse_params<Params>(given).status());
}

TEST(Params, DefaultsAreTheMemberInitialisers) {
  const auto parsed = parse_params<Params>({});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->rounds, 3);
  EXPECT_EQ(parsed->mode, Mode::kFast);
}

TEST(Params, EveryKindIsRead) {
  const auto parsed = parse_params<Params>({{"rounds", std::int64_t{7}},
                                            {"share", std::int64_t{1}},
                                            {"period", std::int64_t{5}},
                                            {"loud", true},
                                            {"mode", std::string("slow")},
                                            {"weight", PerVm{{"a", 2.0}}}});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->rounds, 7);
  EXPECT_EQ(parsed->share, 1.0);
  EXPECT_EQ(parsed->period.ns, 5);
  EXPECT_TRUE(parsed->loud);
  EXPECT_EQ(parsed->mode, Mode::kSlow);
  EXPECT_EQ(parsed->weight.at("a"), 2.0);
}

TEST(Params, MistakesAreNamedWithWhatWouldBeRight) {
  EXPECT_EQ(complaint({{"round", std::int64_t{1}}}),
            "unknown parameter 'round' (did you mean 'rounds'?)");
  EXPECT_EQ(complaint({{"rounds", std::int64_t{11}}}), "rounds: 11 is outside [1, 10]");
  EXPECT_EQ(complaint({{"rounds", 1.5}}), "rounds: expected a whole number, got 1.5");
  EXPECT_EQ(complaint({{"mode", std::string("fats")}}),
            "mode: unknown choice 'fats' (one of slow, fast)");
  EXPECT_EQ(complaint({{"loud", 1.0}}), "loud: expected true or false");
}

struct Wide {
  Count blocks = 0;
  Duration period{0};
  std::uint16_t port = 0;
  double factor = 0;
  static constexpr auto fields() {
    return std::tuple{
        Field{"blocks", &Wide::blocks, "how many", 0},
        Field{"period", &Wide::period, "how long", 0},
        Field{"port", &Wide::port, "where"},
        Field{"factor", &Wide::factor, "how much"},
    };
  }
};

TEST(Params, NumbersBeyondTheirTypeAreOutOfRange) {
  const auto refused = [](const char* name, ParamValue value) {
    return message_of(parse_params<Wide>({{name, std::move(value)}}).status());
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const char* name : {"blocks", "period"}) {
    const std::string range = " is outside [0, 9.223372036854776e+18]";
    EXPECT_EQ(refused(name, kInfinity), std::string(name) + ": inf" + range);
    EXPECT_EQ(refused(name, 0x1p63), std::string(name) + ": 9.223372036854776e+18" + range);
    EXPECT_EQ(refused(name, -kInfinity), std::string(name) + ": -inf is outside [0, inf]");
  }
  EXPECT_EQ(refused("port", std::int64_t{65'536}), "port: 65536 is outside [0, 65535]");
  EXPECT_EQ(refused("port", -1.0), "port: -1 is outside [0, 65535]");
  EXPECT_EQ(refused("blocks", std::nan("")), "blocks: expected a whole number, got nan");
  EXPECT_EQ(refused("period", std::nan("")), "period: nan is outside [0, inf]");
  EXPECT_EQ(refused("factor", std::nan("")), "factor: nan is outside [-inf, inf]");
}

TEST(Params, TheLargestNumbersOfATypeAreTaken) {
  constexpr Count kMost = std::numeric_limits<Count>::max();
  const auto parsed = parse_params<Wide>({{"blocks", kMost},
                                          {"period", 0x1p63 - 1024},
                                          {"port", 65'535.0},
                                          {"factor", std::numeric_limits<double>::infinity()}});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->blocks, kMost);
  EXPECT_EQ(parsed->period.ns, kMost - 1023);
  EXPECT_EQ(parsed->port, 65'535);
  EXPECT_EQ(parsed->factor, std::numeric_limits<double>::infinity());
}

TEST(Params, DescribeListsThemInOrder) {
  const auto infos = describe<Params>();
  ASSERT_EQ(infos.size(), 6U);
  EXPECT_EQ(infos[0].name, "rounds");
  EXPECT_EQ(infos[2].kind, ParamKind::kDuration);
  EXPECT_EQ(infos[4].choices, (std::vector<std::string>{"slow", "fast"}));
  EXPECT_EQ(std::get<std::string>(infos[4].default_value), "fast");
}

}  // namespace
}  // namespace mcsim
