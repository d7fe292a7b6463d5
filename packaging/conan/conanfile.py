"""Conan recipe of the C++ libraries: `conan create packaging/conan`, from a checkout."""

from __future__ import annotations

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy


class Mcsim(ConanFile):
    """Core, policies, optimisers and the online curve of mcsim."""

    name = "mcsim"
    license = "Apache-2.0"
    description = "A simulator of host-side storage caches"
    settings = ("os", "arch", "compiler", "build_type")
    generators = "CMakeDeps"
    package_type = "static-library"

    def set_version(self) -> None:
        """Read the version from the build files."""
        found = re.search(
            r"project\(mcsim VERSION ([\d.]+)", (self._root() / "CMakeLists.txt").read_text()
        )
        assert found is not None
        self.version = found[1]

    def _root(self) -> Path:
        return Path(self.recipe_folder).parents[1]

    def export_sources(self) -> None:
        """Copy the sources of the libraries."""
        folders = ("core", "policies", "optimizers", "capi", "packaging", "third_party")
        for pattern in ("CMakeLists.txt", "LICENSE", *(f"{folder}/*" for folder in folders)):
            copy(self, pattern, str(self._root()), self.export_sources_folder)

    def requirements(self) -> None:
        """Name the libraries of `third_party/VERSIONS.md`."""
        for needed in ("abseil/[>=20220623]", "boost/[>=1.81]", "fmt/[>=9]"):
            self.requires(needed, transitive_headers=True)
        for needed in ("onetbb/[>=2021.8]", "simdjson/[>=3]", "zstd/[>=1.5]"):
            self.requires(needed)

    def generate(self) -> None:
        """Leave out the Python module and the tests."""
        toolchain = CMakeToolchain(self)
        for option, value in (("PYTHON", False), ("TESTS", False), ("CAPI", True)):
            toolchain.cache_variables[f"MCSIM_{option}"] = value
        toolchain.generate()

    def build(self) -> None:
        """Compile the libraries."""
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self) -> None:
        """Install the libraries, their headers and their CMake files."""
        cmake = CMake(self)
        cmake.install(component="devel")
        cmake.install(component="mrc")
        copy(self, "LICENSE", self.source_folder, str(Path(self.package_folder) / "licenses"))

    def package_info(self) -> None:
        """Let CMake find the files of the package itself."""
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/mcsim", "lib/cmake/mcsim_mrc"]
