# generate.cmake: what is made from the sources before they are compiled. Every generator is a Lua program in tools/gen,
# rewrites an output only when its content changes, and runs when its inputs are newer.
#
#   public headers ──headers.lua──▶ generated/neap.h, generated/abi.c, generated/lua/neap/cdef.lua
#   lazy/ops/*.c,
#   mesh/ops/*.c ─────ops.lua─────▶ generated/ops_gen.h, ops_gen.c, op_tests.lua, ops.md, lua/neap/ops_gen.lua
#   lazy/dtype/dtype.h ─dtypes.lua─▶ generated/lua/neap/dtypes_gen.lua
#   lazy/ops/*.c ───kernels.lua───▶ generated/kernels_gen.h, folds_gen.h, chains_gen.h, native_gen.h,
#                                gpu_gen.h
#   stdlib, lazy/ops/*.c,
#   docs/*.md,
#   tools/gen/names.txt ─help.lua─▶ generated/lua/neap/help_gen.lua, sources_gen.lua, arguments_gen.lua, peers_gen.lua,
#                                 reference/*.md, definitions/neap.lua
#   stdlib, interp/*.lua, generated/lua ──embed.lua──▶ generated/embedded.bin, embedded.c (bytecode), build/lua
set(GEN "${PROJECT_SOURCE_DIR}/tools/gen")
file(MAKE_DIRECTORY "${GENERATED}/lua/neap")
file(GLOB GENERATOR_LIBRARY CONFIGURE_DEPENDS "${GEN}/lib/*.lua")
set(GENERATED_FILES "")
set(GENERATED_CORE_SOURCES "${GENERATED}/abi.c")

file(GLOB PUBLIC_HEADERS CONFIGURE_DEPENDS
    engine/engine.h engine/child.h formats/formats.h effects/effects.h lazy/dtype/dtype.h
    lazy/lazy.h lazy/programs.h lazy/jit.h lazy/sizes.h mesh/mesh.h)
set(HEADER_OUTPUTS "${GENERATED}/neap.h" "${GENERATED}/abi.c" "${GENERATED}/lua/neap/cdef.lua")
add_custom_command(
    OUTPUT ${HEADER_OUTPUTS}
    COMMAND "${NEAP_LUAJIT_BINARY}" "${GEN}/headers.lua" "${CMAKE_C_COMPILER}" "${PROJECT_SOURCE_DIR}" "${GENERATED}"
            ${PUBLIC_HEADERS}
    DEPENDS ${PUBLIC_HEADERS} "${GEN}/headers.lua" ${GENERATOR_LIBRARY} "${NEAP_LUAJIT_BINARY}"
    COMMENT "Generating neap.h and the Lua declarations" VERBATIM)
list(APPEND GENERATED_FILES ${HEADER_OUTPUTS})

set(DTYPE_ROWS "${PROJECT_SOURCE_DIR}/lazy/dtype/dtype.h")
add_custom_command(
    OUTPUT "${GENERATED}/lua/neap/dtypes_gen.lua"
    COMMAND "${NEAP_LUAJIT_BINARY}" "${GEN}/dtypes.lua" "${PROJECT_SOURCE_DIR}" "${GENERATED}"
    DEPENDS "${DTYPE_ROWS}" "${GEN}/dtypes.lua" ${GENERATOR_LIBRARY} "${NEAP_LUAJIT_BINARY}"
    COMMENT "Generating the library's table of dtypes" VERBATIM)
list(APPEND GENERATED_FILES "${GENERATED}/lua/neap/dtypes_gen.lua")

file(GLOB OP_FILES CONFIGURE_DEPENDS lazy/ops/*.c mesh/ops/*.c)
set(OP_OUTPUTS "${GENERATED}/ops_gen.h" "${GENERATED}/ops_gen.c" "${GENERATED}/op_tests.lua" "${GENERATED}/ops.md"
    "${GENERATED}/lua/neap/ops_gen.lua")
add_custom_command(
    OUTPUT ${OP_OUTPUTS}
    COMMAND "${NEAP_LUAJIT_BINARY}" "${GEN}/ops.lua" "${PROJECT_SOURCE_DIR}" "${GENERATED}" ${OP_FILES}
    DEPENDS ${OP_FILES} "${GEN}/ops.lua" ${GENERATOR_LIBRARY} "${NEAP_LUAJIT_BINARY}"
    COMMENT "Generating tables from op rows" VERBATIM)
list(APPEND GENERATED_FILES ${OP_OUTPUTS})
list(APPEND GENERATED_CORE_SOURCES "${GENERATED}/ops_gen.c")

file(GLOB SIMD_HEADERS CONFIGURE_DEPENDS lazy/vm/simd/*.h)
if(EXISTS "${GEN}/kernels.lua")
    add_custom_command(
        OUTPUT "${GENERATED}/kernels_gen.h" "${GENERATED}/folds_gen.h" "${GENERATED}/chains_gen.h"
               "${GENERATED}/native_gen.h" "${GENERATED}/gpu_gen.h"
        COMMAND "${NEAP_LUAJIT_BINARY}" "${GEN}/kernels.lua" "${PROJECT_SOURCE_DIR}" "${GENERATED}" ${OP_FILES}
        DEPENDS ${OP_FILES} ${SIMD_HEADERS} "${DTYPE_ROWS}" "${GEN}/kernels.lua" ${GENERATOR_LIBRARY}
                "${NEAP_LUAJIT_BINARY}"
        COMMENT "Generating kernel loops from op rows" VERBATIM)
    file(GLOB NATIVE_SOURCES CONFIGURE_DEPENDS lazy/loop/*.[ch] lazy/native/*.[ch] lazy/native/plugin/*.[ch])
    file(GLOB ROW_HEADERS CONFIGURE_DEPENDS lazy/vm/simd/*.h lazy/dtype/*.h engine/libs/simd/fma.h)
    list(APPEND NATIVE_SOURCES ${ROW_HEADERS} "${GENERATED}/native_gen.h" "${GENERATED}/gpu_gen.h"
         "${PROJECT_SOURCE_DIR}/cmake/native.cmake")
    add_custom_command(
        OUTPUT "${GENERATED}/native_build.h"
        COMMAND "${NEAP_LUAJIT_BINARY}" "${GEN}/native_build.lua" "${GENERATED}" ${NATIVE_SOURCES}
        DEPENDS ${NATIVE_SOURCES} "${GEN}/native_build.lua" ${GENERATOR_LIBRARY} "${NEAP_LUAJIT_BINARY}"
        COMMENT "Numbering what native code is made from" VERBATIM)
    list(APPEND GENERATED_FILES "${GENERATED}/kernels_gen.h" "${GENERATED}/folds_gen.h" "${GENERATED}/chains_gen.h"
         "${GENERATED}/native_gen.h" "${GENERATED}/gpu_gen.h" "${GENERATED}/native_build.h")
endif()

# One line per module for embed.lua: "root directory|prefix|file".
if(NEAP_INTERP)
    file(GLOB_RECURSE STDLIB_FILES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/stdlib/*.lua")
    file(GLOB INTERP_LUA_FILES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/interp/*.lua")
    set(lines "")
    foreach(file ${STDLIB_FILES})
        file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}/stdlib" "${file}")
        string(APPEND lines "lua|${name}|${file}\n")
    endforeach()
    foreach(file ${OP_FILES})
        file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}" "${file}")
        string(APPEND lines "row|${name}|${file}\n")
    endforeach()
    file(GLOB PAGE_FILES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/*.md")
    foreach(file ${PAGE_FILES})
        get_filename_component(name "${file}" NAME_WE)
        string(APPEND lines "page|${name}|${file}\n")
    endforeach()
    file(CONFIGURE OUTPUT "${GENERATED}/help.txt" CONTENT "${lines}")
    set(HELP_OUTPUTS "${GENERATED}/lua/neap/help_gen.lua" "${GENERATED}/lua/neap/sources_gen.lua"
        "${GENERATED}/lua/neap/arguments_gen.lua" "${GENERATED}/lua/neap/peers_gen.lua")
    add_custom_command(
        OUTPUT ${HELP_OUTPUTS}
        COMMAND "${NEAP_LUAJIT_BINARY}" "${GEN}/help.lua" "${PROJECT_SOURCE_DIR}" "${GENERATED}" "${GENERATED}/help.txt"
        DEPENDS ${STDLIB_FILES} ${OP_FILES} ${PAGE_FILES} ${OP_OUTPUTS} "${GENERATED}/help.txt" "${GEN}/help.lua"
                "${GEN}/names.txt"
                ${GENERATOR_LIBRARY} "${NEAP_LUAJIT_BINARY}"
        COMMENT "Generating help from annotations and op rows" VERBATIM)
    list(APPEND GENERATED_FILES ${HELP_OUTPUTS})
    set(GENERATED_LUA_FILES "${GENERATED}/lua/neap/cdef.lua" "${GENERATED}/lua/neap/dtypes_gen.lua"
        "${GENERATED}/lua/neap/ops_gen.lua" ${HELP_OUTPUTS})
    set(lines "")
    foreach(file ${STDLIB_FILES})
        string(APPEND lines "${PROJECT_SOURCE_DIR}/stdlib||${file}\n")
    endforeach()
    foreach(file ${GENERATED_LUA_FILES})
        string(APPEND lines "${GENERATED}/lua||${file}\n")
    endforeach()
    foreach(file ${INTERP_LUA_FILES})
        string(APPEND lines "${PROJECT_SOURCE_DIR}/interp|neap/interp/|${file}\n")
    endforeach()
    file(CONFIGURE OUTPUT "${GENERATED}/modules.txt" CONTENT "${lines}")
    add_custom_command(
        OUTPUT "${GENERATED}/embedded.c" "${GENERATED}/embedded.bin"
        COMMAND "${NEAP_LUAJIT_BINARY}" "${GEN}/embed.lua" "${GENERATED}/modules.txt" "${GENERATED}"
                "${PROJECT_BINARY_DIR}/lua"
        DEPENDS ${STDLIB_FILES} ${INTERP_LUA_FILES} ${GENERATED_LUA_FILES} "${GENERATED}/modules.txt" "${GEN}/embed.lua"
                ${GENERATOR_LIBRARY} "${NEAP_LUAJIT_BINARY}"
        COMMENT "Compiling the library to bytecode" VERBATIM)
    set_source_files_properties("${GENERATED}/embedded.c" PROPERTIES OBJECT_DEPENDS "${GENERATED}/embedded.bin")
    list(APPEND GENERATED_FILES "${GENERATED}/embedded.c" "${GENERATED}/embedded.bin")
endif()

add_custom_target(neap_generated ALL DEPENDS ${GENERATED_FILES})
