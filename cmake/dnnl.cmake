# dnnl.cmake: convolutions of f32 by oneDNN (engine/libs/conv_dnnl.c), if its headers, of version 2, are there. The
# library itself is loaded at run time; nothing is linked. Without it the BLAS convolves; so it does under
# ThreadSanitizer, which does not see the locks of a library that was not compiled with it.
option(NEAP_DNNL "Convolutions by oneDNN, if its headers are found" ON)
if(NEAP_DNNL AND NOT NEAP_SANITIZE MATCHES "thread")
    include(CheckCSourceCompiles)
    check_c_source_compiles("
        #include <oneapi/dnnl/dnnl.h>
        #if DNNL_VERSION_MAJOR != 2
        #error another interface
        #endif
        int main(void) { return 0; }" NEAP_HAVE_DNNL)
    if(NEAP_HAVE_DNNL)
        set_source_files_properties(engine/libs/conv_dnnl.c PROPERTIES COMPILE_DEFINITIONS NEAP_HAVE_DNNL=1)
    endif()
endif()
