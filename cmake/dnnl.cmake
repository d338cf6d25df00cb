# dnnl.cmake: convolutions of f32 by oneDNN (engine/conv_dnnl.c), if its headers, of version 2, are there. The library
# itself is loaded at run time; nothing is linked. Without it the BLAS convolves.
option(NEAP_DNNL "Convolutions by oneDNN, if its headers are found" ON)
if(NEAP_DNNL)
    include(CheckCSourceCompiles)
    check_c_source_compiles("
        #include <oneapi/dnnl/dnnl.h>
        #if DNNL_VERSION_MAJOR != 2
        #error another interface
        #endif
        int main(void) { return 0; }" NEAP_HAVE_DNNL)
    if(NEAP_HAVE_DNNL)
        set_source_files_properties(engine/conv_dnnl.c PROPERTIES COMPILE_DEFINITIONS NEAP_HAVE_DNNL=1)
    endif()
endif()
