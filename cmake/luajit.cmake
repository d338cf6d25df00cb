# luajit.cmake: which LuaJIT neap embeds.
#
# Defines the target neap_luajit (headers and library), NEAP_LUAJIT_BINARY (the interpreter that runs generators and
# compiles the library to bytecode: its version must be the linked one's) and NEAP_LUAJIT_VARIANT for `neap doctor`.
# NEAP_LUAJIT=auto builds LuaJIT with hook checks once into NEAP_DEPS_DIR (tools/luajit, which says what it does);
# if that is impossible, or with NEAP_LUAJIT=packaged, the packaged library is used. Without NEAP_INTERP nothing is
# linked, and any LuaJIT of this machine runs the generators.
if(NOT NEAP_INTERP)
    find_program(LUAJIT_PROGRAM luajit REQUIRED)
    set(NEAP_LUAJIT_BINARY "${LUAJIT_PROGRAM}")
    return()
endif()
set(NEAP_LUAJIT_VARIANT "packaged by choice")
if(NEAP_LUAJIT STREQUAL "auto")
    execute_process(COMMAND "${PROJECT_SOURCE_DIR}/tools/luajit" "${NEAP_DEPS_DIR}" COMMAND_ERROR_IS_FATAL ANY)
    file(STRINGS "${NEAP_DEPS_DIR}/luajit/variant" NEAP_LUAJIT_VARIANT LIMIT_COUNT 1)
    file(GLOB patches CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/luajit-patches/*.patch")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
        "${NEAP_DEPS_DIR}/luajit/variant" "${PROJECT_SOURCE_DIR}/tools/luajit" ${patches})
endif()

add_library(neap_luajit INTERFACE)
if(NEAP_LUAJIT_VARIANT MATCHES "^checkhook")
    set(NEAP_LUAJIT_BINARY "${NEAP_DEPS_DIR}/luajit/bin/luajit")
    target_include_directories(neap_luajit SYSTEM INTERFACE "${NEAP_DEPS_DIR}/luajit/include")
    target_link_libraries(neap_luajit INTERFACE "${NEAP_DEPS_DIR}/luajit/lib/libluajit.a" ${CMAKE_DL_LIBS} m)
else()
    find_program(LUAJIT_PROGRAM luajit)
    find_path(LUAJIT_INCLUDE luajit.h PATH_SUFFIXES luajit-2.1)
    find_library(LUAJIT_LIBRARY NAMES libluajit-5.1.a luajit-5.1)
    if(NOT LUAJIT_PROGRAM OR NOT LUAJIT_INCLUDE OR NOT LUAJIT_LIBRARY)
        message(FATAL_ERROR "No LuaJIT: install luajit and libluajit-5.1-dev (tools/setup does)")
    endif()
    set(NEAP_LUAJIT_BINARY "${LUAJIT_PROGRAM}")
    target_include_directories(neap_luajit SYSTEM INTERFACE "${LUAJIT_INCLUDE}")
    target_link_libraries(neap_luajit INTERFACE "${LUAJIT_LIBRARY}" ${CMAKE_DL_LIBS} m)
endif()
message(STATUS "LuaJIT: ${NEAP_LUAJIT_VARIANT}")
