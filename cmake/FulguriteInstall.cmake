# What `make install` puts where: both libraries, the headers, the plugins' pins, and what
# find_package(fulgurite) and pkg-config need to find them. cli installs the program and its pages.
# The installed tree can be moved: nothing in it names the prefix.
include(CMakePackageConfigHelpers)
set(fg_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fulgurite)

install(TARGETS fulgurite_shared EXPORT fulguriteTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS fulgurite_static EXPORT fulguriteStaticTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/fulgurite DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h")
install(DIRECTORY share/plugins DESTINATION ${CMAKE_INSTALL_DATADIR}/fulgurite)

install(EXPORT fulguriteTargets NAMESPACE fulgurite:: DESTINATION ${fg_cmake_dir})
install(EXPORT fulguriteStaticTargets NAMESPACE fulgurite:: DESTINATION ${fg_cmake_dir})
configure_package_config_file(cmake/fulguriteConfig.cmake.in fulguriteConfig.cmake
    INSTALL_DESTINATION ${fg_cmake_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(fulguriteConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/fulguriteConfig.cmake
    ${CMAKE_BINARY_DIR}/fulguriteConfigVersion.cmake DESTINATION ${fg_cmake_dir})

cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}
    OUTPUT_VARIABLE fg_libdir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
    OUTPUT_VARIABLE fg_prefix_from_pc)
configure_file(cmake/fulgurite.pc.in fulgurite.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/fulgurite.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
