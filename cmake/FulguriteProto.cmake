# fg_proto(NAME): generates C code from NAME.proto in the current folder with protoc-c and adds it to the library.
find_program(FG_PROTOC_C protoc-c REQUIRED)
function(fg_proto name)
    set(made ${CMAKE_CURRENT_BINARY_DIR}/${name}.pb-c)
    add_custom_command(OUTPUT ${made}.c ${made}.h
        COMMAND ${FG_PROTOC_C} --c_out=${CMAKE_CURRENT_BINARY_DIR} -I${CMAKE_CURRENT_SOURCE_DIR} ${name}.proto
        DEPENDS ${name}.proto)
    add_custom_target(fulgurite_proto_${name} DEPENDS ${made}.c ${made}.h)
    add_dependencies(fulgurite_objects fulgurite_proto_${name})
    set_source_files_properties(${made}.c TARGET_DIRECTORY fulgurite_objects
        PROPERTIES GENERATED TRUE COMPILE_OPTIONS -w)
    target_sources(fulgurite_objects PRIVATE ${made}.c)
endfunction()
