# The contents of the Python wheel: a program and a shared library that run on every Linux with a sufficiently
# new glibc, with nothing else installed. Both are linked from the same objects as the normal ones. The program
# is statically linked with its dependencies. The shared library can't be, because Debian's archives are not
# position-independent: it loads them from the folder `fulgurite` next to itself, where tools/make-wheel puts
# them. zlib is the exception: every manylinux system has it.
#   cmake --build build --target portable
set(fg_archives)
foreach(name fyaml jansson protobuf-c jpeg lz4 png16 webpdemux webp gif z jemalloc)
    find_library(FG_ARCHIVE_${name} lib${name}.a)
    mark_as_advanced(FG_ARCHIVE_${name})
    if(FG_ARCHIVE_${name})
        list(APPEND fg_archives ${FG_ARCHIVE_${name}})
    endif()
endforeach()
list(LENGTH fg_archives fg_archive_count)
if(NOT TARGET fulgurite OR FG_SANITIZE OR NOT fg_archive_count EQUAL 11)
    return()
endif()

add_library(fulgurite_portable_shared SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:fulgurite_objects>)
target_link_libraries(fulgurite_portable_shared PRIVATE ${FG_LIBRARIES})
target_include_directories(fulgurite_portable_shared PUBLIC $<INSTALL_INTERFACE:include>)
set(fg_portable_libraries fulgurite_portable_shared)
if(TARGET fulgurite_recipe_objects)
    add_library(fulgurite_portable_recipe SHARED EXCLUDE_FROM_ALL
        $<TARGET_OBJECTS:fulgurite_recipe_objects>)
    target_link_libraries(fulgurite_portable_recipe PUBLIC fulgurite_portable_shared
        PRIVATE fulgurite_helpers ${FG_RECIPE_LIBRARIES})
    target_link_options(fulgurite_portable_recipe PRIVATE -Wl,--exclude-libs,libfulgurite_helpers.a)
    set_target_properties(fulgurite_portable_recipe PROPERTIES
        OUTPUT_NAME fulgurite_recipe EXPORT_NAME fulgurite_recipe)
    list(APPEND fg_portable_libraries fulgurite_portable_recipe)
endif()
# One file without symbolic links: wheels cannot contain any.
set(fg_soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_target_properties(fulgurite_portable_shared PROPERTIES
    OUTPUT_NAME fulgurite EXPORT_NAME fulgurite)
set_target_properties(${fg_portable_libraries} PROPERTIES
    VERSION ${fg_soversion} SOVERSION ${fg_soversion}
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/fulgurite:$ORIGIN"
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/portable)

add_executable(fulgurite_portable EXCLUDE_FROM_ALL cli/main.c cli/allocator.c)
set(fg_own_archives $<TARGET_FILE:fulgurite_cli> $<TARGET_FILE:fulgurite_recipe_static>
    $<TARGET_FILE:fulgurite_static>)
set_target_properties(fulgurite_portable PROPERTIES
    OUTPUT_NAME fulgurite ENABLE_EXPORTS ON LINK_DEPENDS "${fg_own_archives}"
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/portable)
target_include_directories(fulgurite_portable PRIVATE include)
# by file name, because the targets would add their shared libraries
target_link_libraries(fulgurite_portable PRIVATE ${fg_own_archives} ${fg_archives}
    Threads::Threads m ${CMAKE_DL_LIBS})
# symbols exported for stack traces must not replace the zlib of a library that is loaded later
target_link_options(fulgurite_portable PRIVATE
    -Wl,--exclude-libs,libfyaml.a:libjansson.a:libprotobuf-c.a:libz.a
    -Wl,--exclude-libs,libjpeg.a:liblz4.a:libpng16.a:libwebpdemux.a:libwebp.a:libgif.a)
add_dependencies(fulgurite_portable fulgurite_cli fulgurite_recipe_static fulgurite_static)
fg_warnings(fulgurite_portable)
fg_banned(fulgurite_portable)
# draws photos to try the how-tos and notebooks with
add_executable(fulgurite_portable_photos EXCLUDE_FROM_ALL examples/make_photos.c)
set_target_properties(fulgurite_portable_photos PROPERTIES
    OUTPUT_NAME fulgurite-make-photos LINK_DEPENDS $<TARGET_FILE:fulgurite_static>
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/portable)
target_include_directories(fulgurite_portable_photos PRIVATE include)
target_link_libraries(fulgurite_portable_photos PRIVATE $<TARGET_FILE:fulgurite_static> ${fg_archives}
    Threads::Threads m ${CMAKE_DL_LIBS})
add_dependencies(fulgurite_portable_photos fulgurite_static)
fg_warnings(fulgurite_portable_photos)
add_custom_target(portable DEPENDS fulgurite_portable fulgurite_portable_photos ${fg_portable_libraries} man)

install(TARGETS fulgurite_portable ${fg_portable_libraries} EXPORT fulguritePortableTargets
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT portable EXCLUDE_FROM_ALL
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT portable EXCLUDE_FROM_ALL NAMELINK_SKIP)
install(TARGETS fulgurite_portable_photos DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT portable EXCLUDE_FROM_ALL)
install(EXPORT fulguritePortableTargets FILE fulguriteTargets.cmake NAMESPACE fulgurite::
    DESTINATION ${fg_cmake_dir} COMPONENT portable EXCLUDE_FROM_ALL)
# The development link is a linker script of one line.
foreach(name fulgurite fulgurite_recipe)
    file(WRITE ${CMAKE_BINARY_DIR}/portable/link/lib${name}.so "INPUT(lib${name}.so.${fg_soversion})\n")
    install(FILES ${CMAKE_BINARY_DIR}/portable/link/lib${name}.so
        DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT portable EXCLUDE_FROM_ALL)
endforeach()
# the loader does not search this folder, so programs get a run path
set(fg_pc_libs "-L\${libdir} -Wl,-rpath,\${libdir} -lfulgurite")
set(fg_pc_private)
configure_file(cmake/fulgurite.pc.in portable/fulgurite.pc @ONLY)
set(fg_recipe_pc_libs "-L\${libdir} -Wl,-rpath,\${libdir} -lfulgurite_recipe")
set(fg_recipe_pc_private)
configure_file(cmake/fulgurite_recipe.pc.in portable/fulgurite_recipe.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/portable/fulgurite.pc
    ${CMAKE_BINARY_DIR}/portable/fulgurite_recipe.pc DESTINATION ${fg_pc_dir}
    COMPONENT portable EXCLUDE_FROM_ALL)
