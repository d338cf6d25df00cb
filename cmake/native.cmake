# native.cmake: machine code for kernels, as the plugin neap_native.so beside the executable, if clang and LLVM's static
# libraries are there, both of one version. Nothing else is linked with it: a process loads it when a kernel has become
# hot. LLVM's locks were not instrumented, so there is none under ThreadSanitizer.
#
#   lazy/native/plugin/rows.c ──clang, once for each instruction set and dtype──▶ native/rows_ISA_DTYPE.bc
#   lazy/native/plugin/gpu_rows.c ──clang, for NVPTX, once for each dtype────────▶ native/rows_gpu_DTYPE.bc
#   lazy/native/plugin/gpu_call_rows.c ──the same──▶ native/rows_gpu_calls_DTYPE.bc
#   these and plugin/*.c ─────▶ neap_native.so
#
# Bitcode is the same in all build folders of a tree, sanitized ones too, and takes 1.2 s a file: tools/once makes it
# once.
#
# Code for GPUs takes an LLVM with the target NVPTX, and is left out without; nothing of CUDA is needed.
set(NEAP_LLVM_VERSION 19)
option(NEAP_NATIVE "Machine code for kernels, if clang ${NEAP_LLVM_VERSION} and LLVM are found" ON)

function(neap_add_native)
    find_program(NEAP_CLANG NAMES clang-${NEAP_LLVM_VERSION})
    find_program(NEAP_LLVM_CONFIG NAMES llvm-config-${NEAP_LLVM_VERSION})
    if(NOT NEAP_CLANG OR NOT NEAP_LLVM_CONFIG)
        message(STATUS "Native code: no clang-${NEAP_LLVM_VERSION} with llvm-${NEAP_LLVM_VERSION}-dev was found")
        return()
    endif()
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/native") # Ninja would make it, make does not
    execute_process(COMMAND ${NEAP_LLVM_CONFIG} --includedir OUTPUT_VARIABLE include OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${NEAP_LLVM_CONFIG} --libdir OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${NEAP_LLVM_CONFIG} --targets-built OUTPUT_VARIABLE targets)
    execute_process(COMMAND ${NEAP_CLANG} --version OUTPUT_FILE "${PROJECT_BINARY_DIR}/native/clang")
    set(gpu "")
    set(gpu_calls "")
    set(nvptx "")
    if(targets MATCHES "NVPTX")
        set(gpu gpu)
        set(gpu_calls gpu_calls)
        set(nvptx nvptx)
    else()
        message(STATUS "Code for GPUs: this LLVM has no target NVPTX")
    endif()
    execute_process(COMMAND ${NEAP_LLVM_CONFIG} --link-static --libs core bitreader linker passes native ${nvptx}
                    OUTPUT_VARIABLE libraries OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
    if(failed)
        message(STATUS "Native code: LLVM ${NEAP_LLVM_VERSION} without static libraries")
        return()
    endif()
    separate_arguments(libraries)
    set(lanes_baseline 4)
    set(lanes_avx2 8)
    set(lanes_avx512 16)
    file(READ "${PROJECT_SOURCE_DIR}/lazy/dtype/dtype.h" rows)
    string(REGEX MATCHALL "\n    X\\([A-Z0-9]+" rows "${rows}")
    set(bitcode "")
    set(table "")
    set(assembly "")
    set(lanes_gpu 1)
    # The feature is said, since clang takes it from the CUDA that it finds; plugin/gpu.c drops it.
    set(flags_gpu --target=nvptx64-nvidia-cuda -ffreestanding -nogpulib --cuda-feature=+ptx42
        "-I${PROJECT_SOURCE_DIR}/lazy/native/plugin/freestanding")
    set(lanes_gpu_calls 1)
    file(GLOB freestanding CONFIGURE_DEPENDS lazy/native/plugin/freestanding/*.h)
    file(GLOB phases CONFIGURE_DEPENDS lazy/native/plugin/gpu_*.h lazy/native/gpu_call.h)
    foreach(isa ${SIMD_VARIANTS} ${gpu} ${gpu_calls})
        math(EXPR bits "32 * ${lanes_${isa}}")
        set(source lazy/native/plugin/rows.c)
        set(flags ${SIMD_FLAGS_${isa}} -D_GNU_SOURCE -fopenmp-simd -fno-asynchronous-unwind-tables -fno-stack-protector)
        set(depends "${GENERATED}/native_gen.h")
        if(isa STREQUAL gpu)
            set(source lazy/native/plugin/gpu_rows.c)
            set(flags ${flags_gpu})
            set(depends "${GENERATED}/gpu_gen.h" lazy/native/plugin/gpu_half.h ${freestanding})
        elseif(isa STREQUAL gpu_calls)
            set(source lazy/native/plugin/gpu_call_rows.c)
            set(flags ${flags_gpu})
            set(depends ${phases} ${freestanding})
        endif()
        string(APPEND table "    {\"${isa}\", ${lanes_${isa}}, \"${bits}\", {\n")
        foreach(row ${rows})
            string(REGEX REPLACE ".*\\(" "" dtype "${row}")
            set(name "rows_${isa}_${dtype}")
            set(output "${PROJECT_BINARY_DIR}/native/${name}.bc")
            add_custom_command(
                OUTPUT "${output}"
                COMMAND "${PROJECT_SOURCE_DIR}/tools/once" "${NEAP_DEPS_DIR}/bitcode" "${PROJECT_BINARY_DIR}"
                        "${output}" ${source} ${depends} ${ROW_HEADERS} "${PROJECT_BINARY_DIR}/native/clang" --
                        ${CMAKE_C_COMPILER_LAUNCHER} ${NEAP_CLANG} -O3 ${flags} -std=c11
                        -DLANES=${lanes_${isa}} -DNATIVE_${dtype} -ffp-contract=off
                        -fno-math-errno -fno-trapping-math -w
                        "-I${PROJECT_SOURCE_DIR}" "-I${GENERATED}"
                        -c -emit-llvm ${source} -o "${output}"
                DEPENDS ${source} ${depends} ${ROW_HEADERS} "${PROJECT_SOURCE_DIR}/tools/once"
                WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" # bitcode has the name of its source as it is said here
                COMMENT "Compiling rows to bitcode: ${isa}, ${dtype}" VERBATIM)
            list(APPEND bitcode "${output}")
            string(APPEND assembly "ENGINE_INCBIN(${name}, \"${output}\")\n")
            string(APPEND table "        [NEAP_DTYPE_${dtype}] = {${name}, ${name}_end},\n")
        endforeach()
        string(APPEND table "    }},\n")
    endforeach()
    file(CONFIGURE OUTPUT "${GENERATED}/native_bitcode.c" CONTENT
"/* native_bitcode.c: bitcode as data. Generated by cmake/native.cmake; do not edit. */
#include \"engine/incbin.h\"
#include \"lazy/native/plugin/bitcode.h\"

@assembly@
const native_bitcode native_bitcodes[] = {
@table@    {0}};
" @ONLY)
    set_source_files_properties("${GENERATED}/native_bitcode.c" PROPERTIES OBJECT_DEPENDS "${bitcode}")
    file(GLOB sources CONFIGURE_DEPENDS lazy/native/plugin/*.c)
    list(FILTER sources EXCLUDE REGEX "rows\\.c$")
    if(NOT gpu)
        list(FILTER sources EXCLUDE REGEX "/gpu[^/]*\\.c$")
    endif()
    list(APPEND sources lazy/loop/levels.c)
    add_library(neap_native MODULE ${sources} "${GENERATED}/native_bitcode.c")
    target_compile_definitions(neap_native PRIVATE $<$<BOOL:${gpu}>:NATIVE_GPU>)
    set_target_properties(neap_native PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
    target_include_directories(neap_native SYSTEM PRIVATE "${include}")
    target_link_directories(neap_native PRIVATE "${folder}")
    target_link_libraries(neap_native PRIVATE
        neap_options ${libraries} z zstd -l:libstdc++.a m pthread ${CMAKE_DL_LIBS})
    # The C++ library is inside, so that all allocations are seen (plugin/memory.c).
    target_link_options(neap_native PRIVATE -Wl,--gc-sections -Wl,--exclude-libs,ALL -Wl,-s -static-libgcc
        -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=strdup,--wrap=free
        -Wl,--wrap=__cxa_atexit)
    if(NOT NEAP_SANITIZE)
        target_link_options(neap_native PRIVATE -Wl,--no-undefined)
    endif()
    add_dependencies(neap_native neap_generated)
    message(STATUS "Native code: LLVM by ${NEAP_LLVM_CONFIG}")
endfunction()

if(NEAP_NATIVE AND NOT NEAP_SANITIZE MATCHES "thread" AND NOT CMAKE_CROSSCOMPILING)
    neap_add_native()
endif()
