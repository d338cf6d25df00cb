# cuda.cmake: devices of the kind "cuda", as the plugin neap_cuda.so beside the executable. Nothing of CUDA is needed to
# build it: it declares what it uses of the driver, which it looks for when a device is first asked for.
option(NEAP_CUDA "GPUs by the driver of CUDA, if there is one when neap runs" ON)
if(NEAP_CUDA)
    file(GLOB CUDA_SOURCES CONFIGURE_DEPENDS engine/cuda/*.c)
    add_library(neap_cuda MODULE ${CUDA_SOURCES})
    set_target_properties(neap_cuda PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
    target_link_libraries(neap_cuda PRIVATE neap_options pthread ${CMAKE_DL_LIBS})
endif()

# For tests: a driver that stands in for CUDA's, without hardware, and loads the code of kernels for the host.
if(NEAP_CUDA AND NEAP_TESTS)
    file(GLOB FAKE_SOURCES CONFIGURE_DEPENDS tests/cuda/fake/*.c)
    add_library(test_fake_driver SHARED EXCLUDE_FROM_ALL ${FAKE_SOURCES} lazy/native/object.c)
    set_target_properties(test_fake_driver PROPERTIES
        OUTPUT_NAME cuda SOVERSION 1 LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/cuda/fake")
    target_link_libraries(test_fake_driver PRIVATE neap_options pthread)

    # Libraries that go with it, found by the names of the real ones.
    foreach(library blas:cublas:13 solver:cusolver:12 fft:cufft:12 dnn:cudnn:9 nccl:nccl:2)
        string(REPLACE ":" ";" library "${library}")
        list(GET library 0 stem)
        list(GET library 1 name)
        list(GET library 2 version)
        add_library(test_fake_${name} SHARED EXCLUDE_FROM_ALL tests/cuda/fake/libraries/${stem}.c)
        set_target_properties(test_fake_${name} PROPERTIES OUTPUT_NAME ${name} SOVERSION ${version}
            LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/cuda/fake/libraries")
        target_link_libraries(test_fake_${name} PRIVATE neap_options test_fake_driver m pthread)
        add_dependencies(neap_test_parts test_fake_${name})
    endforeach()
endif()
