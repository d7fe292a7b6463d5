# The libraries of Debian 12 instead of those of ConanCenter.
[settings]
os=Linux
arch=x86_64
build_type=Release
compiler=gcc
compiler.version=12
compiler.libcxx=libstdc++11
compiler.cppstd=gnu20

[conf]
tools.cmake.cmaketoolchain:generator=Ninja

[platform_requires]
abseil/20220623
boost/1.81.0
fmt/9.1.0
onetbb/2021.8.0
simdjson/3.0.1
zstd/1.5.4
