# The rules of `make install`: both libraries, the headers, the plugins' pins, and the files with which
# find_package(fulgurite) and pkg-config find them. cli installs the program and its man pages. The installed
# tree is relocatable: no file contains the prefix.
#
# Packages consist of these components (tools/make-deb, tools/make-wheel):
#   runtime      the shared libraries
#   development  files for linking: static libraries, symbolic links, CMake targets, *.pc
#   headers      headers and the files that find_package reads
#   program      the program
#   data         its man pages, completion, pins and example, and the documentation
#   portable     what the wheel contains instead of runtime, development and program; not installed by
#                `make install`
include(CMakePackageConfigHelpers)
set(fg_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fulgurite)
set(fg_pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(fg_shared_targets fulgurite_shared)
set(fg_static_targets fulgurite_static)
if(TARGET fulgurite_recipe_shared)
    list(APPEND fg_shared_targets fulgurite_recipe_shared)
    list(APPEND fg_static_targets fulgurite_recipe_static)
endif()
install(TARGETS ${fg_shared_targets} EXPORT fulguriteTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT runtime NAMELINK_COMPONENT development)
install(TARGETS ${fg_static_targets} EXPORT fulguriteStaticTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/fulgurite DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT headers FILES_MATCHING PATTERN "*.h")
install(DIRECTORY share/plugins DESTINATION ${CMAKE_INSTALL_DATADIR}/fulgurite COMPONENT data)
install(DIRECTORY share/data/digits DESTINATION ${CMAKE_INSTALL_DATADIR}/fulgurite/data
    COMPONENT data)
install(FILES examples/digits.yaml examples/digits_mlp.yaml
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fulgurite/examples COMPONENT data)
# The folders of the source, so that links between pages, and to examples, are valid.
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/fulgurite
    COMPONENT data)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/fulgurite COMPONENT data
    PATTERN CMakeLists.txt EXCLUDE)

install(EXPORT fulguriteTargets NAMESPACE fulgurite:: DESTINATION ${fg_cmake_dir}
    COMPONENT development)
install(EXPORT fulguriteStaticTargets NAMESPACE fulgurite:: DESTINATION ${fg_cmake_dir}
    COMPONENT development)
configure_package_config_file(cmake/fulguriteConfig.cmake.in fulguriteConfig.cmake
    INSTALL_DESTINATION ${fg_cmake_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(fulguriteConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/fulguriteConfig.cmake
    ${CMAKE_BINARY_DIR}/fulguriteConfigVersion.cmake DESTINATION ${fg_cmake_dir} COMPONENT headers)

cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}
    OUTPUT_VARIABLE fg_libdir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
    OUTPUT_VARIABLE fg_prefix_from_pc)
set(fg_pc_libs "-L\${libdir} -lfulgurite")
set(fg_pc_private
    "Requires.private: zlib jansson libprotobuf-c libjpeg liblz4 libpng libwebp libwebpdemux\nLibs.private: -lgif -lm -ldl -pthread")
configure_file(cmake/fulgurite.pc.in fulgurite.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/fulgurite.pc DESTINATION ${fg_pc_dir} COMPONENT development)
# for libfulgurite_recipe: its name and dependencies
set(fg_recipe_pc_libs "-L\${libdir} -lfulgurite_recipe")
set(fg_recipe_pc_private "Requires.private: libfyaml jansson zlib\nLibs.private: -lm")
if(TARGET fulgurite_recipe_shared)
    configure_file(cmake/fulgurite_recipe.pc.in fulgurite_recipe.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/fulgurite_recipe.pc DESTINATION ${fg_pc_dir}
        COMPONENT development)
endif()
include(FulguritePortable)
