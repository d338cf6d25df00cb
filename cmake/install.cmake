# install.cmake: what `cmake --install build --prefix P` puts where, and the Debian packages that cpack makes of it.
#
#   P/bin/neap                    the executable, with the library inside
#   P/lib/libneap.so              the core, for C programs and stock luajit; lib/neap: plugins; lib/pkgconfig
#   P/include/neap/               neap.h, and engine/device.h with what it includes, for who writes a device plugin
#   P/share/lua/5.1/neap/         the library as Lua files, for stock luajit
#   P/share/neap/definitions/     declarations of np for editors
#   P/share/doc/neap/             pages, notebooks, examples, licenses; share/man; completions of bash and zsh
#
# Nothing holds P: the executable has all its Lua inside, plugins are found beside who loads them, the Lua files find
# libneap.so by their own path, and pkg-config's file by its own. So the folder can be moved, and made anywhere
# (DESTDIR). The folders can be named, which LuaRocks does; bin, lib and lib/neap keep their places to each other.
# tests/tools/install_test.lua uses what is installed, from a moved folder.
set(NEAP_INSTALL_BIN bin CACHE STRING "Where the executable goes, below the prefix")
set(NEAP_INSTALL_LIB lib CACHE STRING "Where libneap.so goes; plugins go to its folder neap")
set(NEAP_INSTALL_LUA share/lua/5.1 CACHE STRING "Where the Lua files for stock luajit go")

option(NEAP_VERSIONED "libneap.so is a link to a file with its version; OFF for LuaRocks, which moves no links" ON)

# `git clone` makes a folder neap, and so a prefix ~/neap may be the sources themselves. Staging (DESTDIR) and build/
# may be inside of the sources.
install(CODE "
    if(\"\$ENV{DESTDIR}\" STREQUAL \"\")
        file(REAL_PATH \"\${CMAKE_INSTALL_PREFIX}\" place)
        file(REAL_PATH \"${PROJECT_SOURCE_DIR}\" sources)
        file(REAL_PATH \"${PROJECT_BINARY_DIR}\" build)
        string(FIND \"\${place}/\" \"\${sources}/\" in_sources)
        string(FIND \"\${place}/\" \"\${build}/\" in_build)
        if(in_sources EQUAL 0 AND NOT in_build EQUAL 0)
            message(FATAL_ERROR \"\${place} is in the folder of the sources, among which bin, lib, share would lie: \"
                                \"choose another prefix, such as ~/opt/neap\")
        endif()
    endif()" ALL_COMPONENTS)

if(NEAP_VERSIONED)
    set_target_properties(neap PROPERTIES
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()
install(TARGETS neap LIBRARY DESTINATION ${NEAP_INSTALL_LIB} COMPONENT neap)
if(TARGET neap_mpi)
    install(TARGETS neap_mpi LIBRARY DESTINATION ${NEAP_INSTALL_LIB}/neap COMPONENT mpi)
endif()
if(TARGET neap_native)
    install(TARGETS neap_native LIBRARY DESTINATION ${NEAP_INSTALL_LIB}/neap COMPONENT native)
endif()
if(TARGET neap_cuda)
    install(TARGETS neap_cuda LIBRARY DESTINATION ${NEAP_INSTALL_LIB}/neap COMPONENT neap)
endif()

# ---- For C -----------------------------------------------------------------------------------------------------------
install(FILES "${GENERATED}/neap.h" DESTINATION include/neap COMPONENT neap)
install(FILES engine/engine.h engine/device.h engine/generator.h engine/routine.h engine/transport.h
        DESTINATION include/neap/engine COMPONENT neap)
configure_file(packaging/neap.pc.in "${PROJECT_BINARY_DIR}/neap.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/neap.pc" DESTINATION ${NEAP_INSTALL_LIB}/pkgconfig COMPONENT neap)

# ---- Texts -----------------------------------------------------------------------------------------------------------
set(DOC share/doc/neap)
install(FILES README.md CHANGELOG.md SECURITY.md CITATION.cff LICENSE LICENSE-NOTES.md packaging/copyright
        DESTINATION ${DOC} COMPONENT neap)
install(DIRECTORY docs/ DESTINATION ${DOC}/docs COMPONENT neap
    FILES_MATCHING PATTERN "*.md" PATTERN "*.ipynb" PATTERN "*.png" PATTERN "*.gif" PATTERN "*.svg"
    PATTERN ".ipynb_checkpoints" EXCLUDE)
install(DIRECTORY examples/ DESTINATION ${DOC}/examples COMPONENT neap)
install(DIRECTORY scripts/ DESTINATION ${DOC}/scripts COMPONENT neap)

# ---- For Lua, editors and the shell ----------------------------------------------------------------------------------
if(NEAP_INTERP)
    install(TARGETS neap_main RUNTIME DESTINATION ${NEAP_INSTALL_BIN} COMPONENT neap)
    install(DIRECTORY "${PROJECT_BINARY_DIR}/lua/" DESTINATION ${NEAP_INSTALL_LUA} COMPONENT neap)
    install(DIRECTORY "${GENERATED}/definitions" DESTINATION share/neap COMPONENT neap)

endif()

# The manual page and the completions are made from what --help prints and packaging/neap.1.in. zsh's own folder is
# another one below /usr on Debian.
if(NEAP_INTERP AND NOT NEAP_SANITIZE)
    set(COMMAND_LINE "${GENERATED}/command_line")
    set(COMMAND_LINE_OUTPUTS "${COMMAND_LINE}/neap.1" "${COMMAND_LINE}/neap.bash" "${COMMAND_LINE}/_neap")
    add_custom_command(
        OUTPUT ${COMMAND_LINE_OUTPUTS}
        COMMAND "${NEAP_LUAJIT_BINARY}" "${GEN}/command_line.lua" "$<TARGET_FILE:neap_main>"
                "${PROJECT_SOURCE_DIR}/packaging/neap.1.in" "${COMMAND_LINE}"
        DEPENDS neap_main packaging/neap.1.in "${GEN}/command_line.lua" ${GENERATOR_LIBRARY}
        COMMENT "Generating the manual page and completions from --help" VERBATIM)
    add_custom_target(neap_command_line ALL DEPENDS ${COMMAND_LINE_OUTPUTS})
    install(FILES "${COMMAND_LINE}/neap.1" DESTINATION share/man/man1 COMPONENT neap)
    install(FILES "${COMMAND_LINE}/neap.bash" DESTINATION share/bash-completion/completions RENAME neap COMPONENT neap)
    install(FILES "${COMMAND_LINE}/_neap" DESTINATION share/zsh/site-functions COMPONENT neap)
    install(FILES "${COMMAND_LINE}/_neap" DESTINATION share/zsh/vendor-completions COMPONENT neap)
endif()

# ---- Debian packages: neap; neap-mpi, the one part that is linked with MPI; neap-native, the one with LLVM -----------
# What is only loaded when it is there is recommended where common work needs it, else suggested.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME neap)
set(CPACK_PACKAGE_VENDOR "The neap authors")
# Who answers for a package is who makes it: as for Debian's tools, $DEBFULLNAME and $DEBEMAIL when this is configured.
# Without them the package names nobody, at an address that nobody can have (RFC 2606).
set(packager "The neap authors")
set(address "neap@nobody.invalid")
if(DEFINED ENV{DEBEMAIL})
    set(address "$ENV{DEBEMAIL}")
    if(DEFINED ENV{DEBFULLNAME})
        set(packager "$ENV{DEBFULLNAME}")
    endif()
endif()
set(CPACK_PACKAGE_CONTACT "${packager} <${address}>")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL neap mpi native)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION interpreters)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_NEAP_PACKAGE_NAME neap)
set(CPACK_COMPONENT_NEAP_DESCRIPTION "Lua with lazy arrays, gradients and jit: prompt, script runner, C library
neap is an interactive prompt and a script runner: LuaJIT above, a C core below.
Arrays are lazy: operators record what is to be computed, and whole expressions
run as single passes over memory, on all cores. Names are those of NumPy and JAX.

This package has the executable, the library for C programs and for stock
luajit, the manual page, documentation and examples.")
set(CPACK_DEBIAN_NEAP_PACKAGE_RECOMMENDS
    "neap-native, libopenblas0-pthread | libopenblas0, zlib1g, libpng16-16, libjpeg62-turbo, libzmq5"
    "gnuplot-nox | gnuplot-qt | gnuplot-x11")
list(JOIN CPACK_DEBIAN_NEAP_PACKAGE_RECOMMENDS ", " CPACK_DEBIAN_NEAP_PACKAGE_RECOMMENDS)
set(CPACK_DEBIAN_NEAP_PACKAGE_SUGGESTS
    "libdnnl2, libfftw3-single3, libfftw3-double3, coinor-libcbc3, libnlopt0, libklu1 | libklu2, neap-mpi"
    "ffmpeg, libzstd1, liblz4-1, libsnappy1v5, luajit, pkg-config, dataset-fashion-mnist")
list(JOIN CPACK_DEBIAN_NEAP_PACKAGE_SUGGESTS ", " CPACK_DEBIAN_NEAP_PACKAGE_SUGGESTS)
set(CPACK_DEBIAN_MPI_PACKAGE_NAME neap-mpi)
set(CPACK_COMPONENT_MPI_DESCRIPTION "Lua with lazy arrays: many processes, by MPI
With this part, `mpirun -n N neap script.lua` runs a script in several processes,
which share arrays.")
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "neap (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS openmpi-bin)
set(CPACK_DEBIAN_NATIVE_PACKAGE_NAME neap-native)
set(CPACK_COMPONENT_NATIVE_DESCRIPTION "Lua with lazy arrays: machine code for kernels, by LLVM
With this part, kernels that have run for a while become machine code. It has what
it needs of LLVM inside.")
set(CPACK_DEBIAN_NATIVE_PACKAGE_DEPENDS "neap (= ${PROJECT_VERSION})")
include(CPack)
