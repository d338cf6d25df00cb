# simd.cmake: the loops of lazy/vm/simd and engine/libs/simd, compiled once per instruction set.
#
# Each *.c of theirs is compiled for every variant with -DNEAP_ISA=<variant>, which the sources append to the names
# that they define; the core picks a variant at run time. All variants give the same bits (docs: numbers).
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    set(SIMD_VARIANTS baseline avx2 avx512)
else()
    set(SIMD_VARIANTS baseline)
endif()
set(SIMD_FLAGS_baseline "")
set(SIMD_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(SIMD_FLAGS_avx512
    -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mf16c -mprefer-vector-width=512)

# With sanitizers, -O3 takes minutes a file and finds no more. But a product's sums stay in registers only in unrolled
# loops: with -O1 the address sanitizer looks at each, and products take three times as long as with -O2.
set(SIMD_OPTIMIZE -O3)
if(NEAP_SANITIZE)
    set(SIMD_OPTIMIZE -O1)
endif()
if(NEAP_SANITIZE MATCHES "address")
    set_source_files_properties("${PROJECT_SOURCE_DIR}/engine/libs/simd/product.c" PROPERTIES COMPILE_OPTIONS -O2)
endif()

# neap_add_simd(VARIABLE): sets VARIABLE to the objects of all variants.
function(neap_add_simd variable)
    file(GLOB sources CONFIGURE_DEPENDS
        "${PROJECT_SOURCE_DIR}/engine/libs/simd/*.c" "${PROJECT_SOURCE_DIR}/lazy/vm/simd/*.c")
    set(objects "")
    if(sources)
        foreach(variant ${SIMD_VARIANTS})
            add_library(neap_simd_${variant} OBJECT ${sources})
            target_link_libraries(neap_simd_${variant} PRIVATE neap_options)
            target_compile_definitions(neap_simd_${variant} PRIVATE NEAP_ISA=${variant})
            target_compile_options(neap_simd_${variant} PRIVATE ${SIMD_OPTIMIZE} -fopenmp-simd ${SIMD_FLAGS_${variant}})
            add_dependencies(neap_simd_${variant} neap_generated)
            list(APPEND objects $<TARGET_OBJECTS:neap_simd_${variant}>)
        endforeach()
    endif()
    set(${variable} ${objects} PARENT_SCOPE)
endfunction()
