# mpi.cmake: the transport between processes, mesh/mpi, as the plugin neap_mpi.so beside the executable, if there is an
# MPI library with its headers. Nothing else is linked with it: a process loads it when mpirun has started it as one of
# several. A library under ThreadSanitizer would be blamed for locks that were not instrumented, so there is none then.
option(NEAP_MPI "Many processes by MPI, if it is found" ON)
if(NEAP_MPI AND NOT NEAP_SANITIZE MATCHES "thread")
    find_package(MPI QUIET COMPONENTS C)
    if(MPI_C_FOUND)
        file(GLOB MPI_SOURCES CONFIGURE_DEPENDS mesh/mpi/*.c)
        add_library(neap_mpi MODULE ${MPI_SOURCES})
        set_target_properties(neap_mpi PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
        target_link_libraries(neap_mpi PRIVATE neap_options MPI::MPI_C)
        message(STATUS "Many processes: with MPI (${MPI_C_LIBRARIES})")
    else()
        message(STATUS "Many processes: no MPI library with headers was found, so neap runs in one process alone")
    endif()
endif()
