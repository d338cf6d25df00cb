# images.cmake: PNG through libpng and JPEG through libjpeg (formats/png.c, formats/jpeg.c), if their headers are
# there. The libraries themselves are loaded at run time; nothing is linked. Without them np.io.load_image says what to
# install.
option(NEAP_IMAGES "Images by libpng and libjpeg, if their headers are found" ON)
if(NEAP_IMAGES)
    include(CheckCSourceCompiles)
    check_c_source_compiles("
        #include <png.h>
        #if PNG_LIBPNG_VER < 10600
        #error another interface
        #endif
        int main(void) { return 0; }" NEAP_HAVE_PNG)
    check_c_source_compiles("
        #include <stdio.h>
        #include <jpeglib.h>
        #include <jerror.h>
        int main(void) { return 0; }" NEAP_HAVE_JPEG)
    if(NEAP_HAVE_PNG)
        set_source_files_properties(formats/png.c PROPERTIES COMPILE_DEFINITIONS NEAP_HAVE_PNG=1)
    endif()
    if(NEAP_HAVE_JPEG)
        set_source_files_properties(formats/jpeg.c PROPERTIES COMPILE_DEFINITIONS NEAP_HAVE_JPEG=1)
    endif()
endif()
