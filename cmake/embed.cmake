# cmake -DOUT=file.cpp -DHEADER=... -DNAMESPACE=... -DFILES=a;b -P embed.cmake: each file as a std::string_view, byte by byte.
# The variable's name is the file's name with every other character than letters and digits as an underscore.
set(text "#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\nnamespace {\n")
set(views "")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  string(MAKE_C_IDENTIFIER "${name}" name)
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND text "constexpr char ${name}_bytes[] = {\n${bytes}};\n")
  string(APPEND views "const std::string_view ${name}{${name}_bytes, sizeof ${name}_bytes};\n")
endforeach()
file(WRITE "${OUT}" "${text}}  // namespace\n${views}}  // namespace ${NAMESPACE}\n")
